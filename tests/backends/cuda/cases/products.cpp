// Calls of products.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

Results dense_layer(Inputs& in, Activation activation, std::int64_t n, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = in.parameter({n, inputs}), w = in.parameter({inputs, outputs}), bias = in.parameter({outputs});
  return with_gradients(in, dense(x, w, bias, activation), {x, w, bias});
}

}  // namespace

DeviceCases product_cases() {
  using detail::Op;
  return {
      {"matmul_of_batches",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({3, 1, 20, 30}), w = in.parameter({2, 30, 10});
         return with_gradients(in, matmul(x, w), {x, w});
       }},
      {"matmul",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({65, 130}), w = in.parameter({130, 33});
         return with_gradients(in, matmul(x, w), {x, w});
       },
       1e-4},
      {"matmul_transposed",
       {Op::matmul},
       [](Inputs& in) {
         const Tensor x = in.parameter({130, 65}), w = in.parameter({33, 130});
         return with_gradients(in, matmul(x, w, {.transpose_x = true, .transpose_w = true}), {x, w});
       },
       1e-4},
      {"matmul_of_slices",
       {Op::matmul},
       [](Inputs& in) {  // which are not aligned
         return Results{matmul(slice(in({65, 33}), 1, 64), slice(in({34, 7}), 1, 34))};
       },
       1e-4},
      {"matmul_of_nothing",
       {Op::matmul},
       [](Inputs& in) {
         return Results{matmul(in({3, 0}), in({0, 5}))};
       }},
      {"dense", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, nullptr, 64, 128, 96); }, 1e-4},
      {"dense_relu", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, relu, 64, 128, 96); }, 1e-4},
      {"dense_odd", {Op::dense, Op::dense_grad}, [](Inputs& in) { return dense_layer(in, relu, 33, 17, 1); }, 1e-4},
  };
}

}  // namespace asyncgrad::tests
