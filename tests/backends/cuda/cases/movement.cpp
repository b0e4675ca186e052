// Calls of creation and movement of elements.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

DeviceCases movement_cases() {
  using detail::Op;
  return {
      {"fill",
       {Op::fill},
       [](Inputs& in) {
         Results results;
         for (const DType dtype : {in.dtype(), int64, int32, uint8, bfloat16, boolean}) {
           results.push_back(full({1001}, 1, {dtype, in.device()}));
         }
         return results;
       }},
      {"arange",
       {Op::arange},
       [](Inputs& in) {
         return Results{arange(0, 1001, 1, {in.dtype(), in.device()})};
       }},
      {"copy",
       {Op::copy},
       [](Inputs& in) {
         const Tensor x = in({1001}, -100, 100);
         return Results{clone(x), to(x, int64), to(x, float32), to(x, float64), to(to(x, int64), in.dtype())};
       }},
      {"strided_copy",
       {Op::strided_copy, Op::fill},
       [](Inputs& in) {
         const Tensor x = in.parameter({5, 70, 33});
         const Tensor parts = slice(x, 1, 3, 60, 2) + slice(flip(x, 2), 1, 0, 57, 2);
         Results results = with_gradients(in, parts, {x});
         for (const Tensor& y : {transpose(x), transpose(x, 0, 1), transpose(x, 0, 2), tile(x, {2, 1, 3}),
                                 expand(x, {2, 5, 70, 33}), pad(x, {{1, 1}, {0, 2}, {3, 0}}, 7)}) {
           results.push_back(y);
         }
         return results;
       }},
      {"concat_of_many",
       {Op::concat},
       [](Inputs& in) {
         std::vector<Tensor> parts;
         for (const std::int64_t width : {3, 1, 0, 2, 5, 1, 1, 4, 7, 0, 2, 1, 3, 1, 1, 2, 6}) {
           parts.push_back(in.parameter({9, width, 3}));
         }
         return with_gradients(in, concat(parts, 1), parts);
       }},
      {"concat",
       {Op::concat},
       [](Inputs& in) {
         const Tensor x = in.parameter({5, 70}), y = in.parameter({5, 3});
         return with_gradients(in, concat({x, y, x}, 1), {x, y});
       }},
      {"gather_and_scatter_add",
       {Op::gather, Op::scatter_add},
       [](Inputs& in) {
         const Tensor x = in.parameter({4, 20, 3}), indices = in.integers({4, 30, 3}, 20);
         const Tensor source = in.parameter({4, 30, 3});
         return with_gradients(in, gather(scatter_add(x, indices, source, 1), indices, 1), {x, source});
       }},
      {"put",
       {Op::put, Op::first_places},
       [](Inputs& in) {
         const Tensor x = in.parameter({20, 33}), values = in.parameter({3, 500}), y = x * 2;
         put(y, in.integers({3, 500}, 660), values);
         return with_gradients(in, y, {x, values});
       }},
      {"ravel_multi_index",
       {Op::ravel_multi_index},
       [](Inputs& in) {
         const Tensor rows = in.integers({300, 1}, 20) - 10, columns = in.integers({7}, 5);
         const Tensor places = ravel_multi_index({rows, columns, in.integers({}, 3)}, {20, 5, 3});
         return Results{places.to(in.dtype())};
       }},
      {"one_hot", {Op::one_hot}, [](Inputs& in) { return Results{one_hot(in.integers({40}, 7), 7, in.dtype())}; }},
      {"triangle", {Op::triangle}, with_parameter({3, 40, 30}, [](const Tensor& x) { return tril(x) + triu(x, 2); })},
      {"take",
       {Op::take, Op::take_grad},
       [](Inputs& in) {
         const Tensor x = in.parameter({20, 33});
         return with_gradients(in, take(x, in.integers({300}, 20)), {x});
       }},
  };
}

}  // namespace asyncgrad::tests
