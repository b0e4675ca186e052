// Functions of tensors. test_operations.py has more of them.
#include <string>

#include "python/tests/cases/case.h"

namespace cases {

namespace {

void products() {
  value("ag.prod(input((2, 3)))", [] { return hex(ag::prod(input({2, 3}))); });
  value("input((2, 3, 2)).prod(axis=(0, 2), keepdims=True)", [] {
    return hex(ag::prod(input({2, 3, 2}), {0, 2}, true));
  });
  value("ag.prod(input((2, 3)), axis=(0, -2))", [] { return hex(ag::prod(input({2, 3}), {0, -2})); });
  value("ag.einsum('ij,jk->ki', input((2, 3)), input((3, 4)))", [] {
    return hex(ag::einsum("ij,jk->ki", {input({2, 3}), input({3, 4})}));
  });
  value("ag.einsum('ij,jk', input((2, 3)), input((4, 3)))", [] {
    return hex(ag::einsum("ij,jk", {input({2, 3}), input({4, 3})}));
  });
  value("ag.tensordot(input((2, 3)), input((3, 4)), axes=1)", [] {
    return hex(ag::tensordot(input({2, 3}), input({3, 4}), 1));
  });
  value("ag.tensordot(input((2, 3)), input((3, 2)), ([0, 1], [1, 0]))", [] {
    return hex(ag::tensordot(input({2, 3}), input({3, 2}), {0, 1}, {1, 0}));
  });
  value("ag.tensordot(input((2, 3)), input((4, 2)), axes=1)", [] {
    return hex(ag::tensordot(input({2, 3}), input({4, 2}), 1));
  });
}

void tensors_like() {
  value("ag.zeros_like(input((2, 3)))", [] { return hex(ag::zeros_like(input({2, 3}))); });
  value("ag.ones_like(input((2, 3)))", [] { return hex(ag::ones_like(input({2, 3}))); });
  value("ag.full_like(input((2, 3)), value=0.5)", [] { return hex(ag::full_like(input({2, 3}), 0.5)); });
  const auto drawn = [](const std::string& python, ag::Tensor (*function)(const ag::Arg&, ag::Generator*)) {
    value(python + "(input((2, 3)))", [=] { return hex(function(input({2, 3}), nullptr)); });
    value(python + "(input((2, 3)), generator=ag.Generator(3))", [=] {
      ag::Generator generator(3);
      return hex(function(input({2, 3}), &generator));
    });
  };
  drawn("ag.rand_like", ag::rand_like);
  drawn("ag.randn_like", ag::randn_like);
  value("ag.rand_like(ag.arange(3))", [] { return hex(ag::rand_like(ag::arange(0, 3, 1, {.dtype = ag::int64}))); });
}

void places() {
  const ag::Tensor rows = ag::arange(-3, 3, 1, {.dtype = ag::int64}),
                   columns = ag::Tensor::from<std::int64_t>({3}, {1});
  value("ag.ravel_multi_index([ag.arange(-3, 3), ag.array([3])], shape=(3, 4)).astype('float32')", [&] {
    return hex(ag::ravel_multi_index({rows, columns}, {3, 4}).to(ag::float32));
  });
  refused("ag.ravel_multi_index([ag.arange(-3, 3)], (3, 4))", [&] { return ag::ravel_multi_index(rows, {3, 4}); });
}

}  // namespace

void operations() {
  products();
  places();
  tensors_like();
}

}  // namespace cases
