// Calls of products.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

Results dense_layer(Inputs& in, Activation activation, std::int64_t n, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = in.parameter({n, inputs}), w = in.parameter({inputs, outputs}), bias = in.parameter({outputs});
  return with_gradients(in, dense(x, w, bias, activation), {x, w, bias});
}

// Every mode has small integers and their sums exactly, in every order.
Tensor small_integers(Inputs& in, const Shape& shape) { return to(in.integers(shape, 9), in.dtype()); }

Results bfloat16_products(Inputs& in, const Shape& x_shape, const Shape& w_shape, const MatmulOptions& options) {
  const Tensor x = parameter(small_integers(in, x_shape)), w = parameter(small_integers(in, w_shape));
  const Tensor y = to(matmul(to(x, bfloat16), to(w, bfloat16), options), in.dtype());
  sum(y * small_integers(in, y.shape())).backward();
  return {y, x.grad(), w.grad()};
}

Results products_of_integers_in(Inputs& in, MathMode mode) {
  const detail::MathModeScope scope(mode);
  const Tensor x = small_integers(in, {65, 130}), w = small_integers(in, {130, 33}), bias = small_integers(in, {33});
  return {matmul(x, w), dense(x, w, bias)};
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
      {"matmul_of_bfloat16",
       {Op::matmul},
       [](Inputs& in) {
         return bfloat16_products(in, {65, 130}, {130, 33}, {});
       }},
      {"matmul_of_batches_of_bfloat16",
       {Op::matmul},
       [](Inputs& in) {
         return bfloat16_products(in, {3, 24, 16}, {3, 40, 24}, {.transpose_x = true, .transpose_w = true});
       }},
      {"matmul_in_bf16", {Op::matmul}, [](Inputs& in) { return products_of_integers_in(in, MathMode::bf16); }},
      {"matmul_in_tf32", {Op::matmul}, [](Inputs& in) { return products_of_integers_in(in, MathMode::tf32); }},
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
