// Calls of operations on tensors without elements, where other subjects have none.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

using detail::Op;

const std::vector<Shape> shapes = {Shape{0}, Shape{0, 3}, Shape{3, 0}};

// function(x) of a parameter of each shape, and its gradient.
template <class Function>
DeviceCase case_of(const char* name, std::vector<Op> ops, Function function) {
  return {std::string(name) + "_of_no_element", std::move(ops), [=](Inputs& in) {
            Results results;
            for (const Shape& shape : shapes) {
              const Tensor x = in.parameter(shape);
              for (const Tensor& y : with_gradients(in, function(x), {x})) results.push_back(y);
            }
            return results;
          }};
}
// function(shape, options) without operands.
template <class Function>
DeviceCase made_case(const char* name, Op op, Function function) {
  return {std::string(name) + "_of_no_element", {op}, [=](Inputs& in) {
            Results results;
            for (const Shape& shape : shapes) results.push_back(function(shape, in));
            return results;
          }};
}

}  // namespace

DeviceCases nothing_cases() {
  return {
      case_of("elementwise", {}, [](const Tensor& x) { return exp(x) * x + 1; }),
      case_of("copy", {Op::copy}, [](const Tensor& x) { return x.clone(); }),
      case_of("sum", {Op::sum}, [](const Tensor& x) { return sum(x) + sum(x, 0); }),
      case_of("softmax", {Op::softmax, Op::softmax_grad}, [](const Tensor& x) { return softmax(x); }),
      case_of("softmax_across", {Op::softmax, Op::softmax_grad}, [](const Tensor& x) { return softmax(x, 0); }),
      case_of("log_softmax", {Op::log_softmax, Op::log_softmax_grad}, [](const Tensor& x) { return log_softmax(x); }),
      case_of("strided_copy", {Op::strided_copy},
              [](const Tensor& x) {
                return transpose(x.reshape({0, 2})) * 2;
              }),
      case_of("concat", {Op::concat},
              [](const Tensor& x) {
                return concat({x, x}, 0);
              }),
      case_of("triangle", {Op::triangle},
              [](const Tensor& x) {
                return tril(x.reshape({2, 0}));
              }),
      case_of("put", {Op::put},
              [](const Tensor& x) {
                const Tensor y = x * 2;
                put(y, zeros(x.shape(), {.dtype = int64, .device = x.device()}), x);
                return y;
              }),
      case_of("dropout", {Op::dropout},
              [](const Tensor& x) {
                Generator generator(3);
                return dropout(x, 0.5, &generator);
              }),
      made_case("fill", Op::fill, [](const Shape& s, Inputs& in) { return full(s, 3, {.device = in.device()}); }),
      made_case("uniform", Op::uniform,
                [](const Shape& s, Inputs& in) { return uniform(s, 0, 1, {.device = in.device()}); }),
      made_case("normal", Op::normal, [](const Shape& s, Inputs& in) { return randn(s, {.device = in.device()}); }),
      made_case("ravel_multi_index", Op::ravel_multi_index,
                [](const Shape& s, Inputs& in) {
                  return ravel_multi_index({in.integers(s, 4), in.integers(s, 3)}, {4, 3}).to(in.dtype());
                }),
      made_case("one_hot", Op::one_hot,
                [](const Shape& s, Inputs& in) { return one_hot(in.integers(s, 4), 4).to(in.dtype()); }),
      made_case("take", Op::take,
                [](const Shape& s, Inputs& in) {
                  return take(in({5, 2}), in.integers(s, 5));
                }),
  };
}

}  // namespace asyncgrad::tests
