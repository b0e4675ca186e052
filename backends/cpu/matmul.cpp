#include "asyncgrad/backends/cpu/matmul.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/dense.h"
#include "asyncgrad/backends/cpu/product.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {
namespace {

ProductShape matmul_shape(const KernelCall& call) {
  const auto& attributes = call.attributes<MatmulAttributes>();
  const Shape& out = call.shape(0);
  return {.m = out[0],
          .n = out[1],
          .k = call.shape(1)[attributes.transpose_x ? 0 : 1],
          .transpose_x = attributes.transpose_x,
          .transpose_w = attributes.transpose_w,
          .math = attributes.math,
          .dtype = call.dtype(0)};
}
template <class T>
ProductOperands<T> matmul_operands(const KernelCall& call) {
  return {.x = call.data<T>(1), .w = call.data<T>(2), .bias = nullptr, .out = call.data<T>(0)};
}

ProductShape dense_shape(const KernelCall& call) {
  const Shape& w = call.shape(2);
  return {.m = call.shape(0)[0],
          .n = w[1],
          .k = w[0],
          .math = call.attributes<DenseAttributes>().math,
          .dtype = call.dtype(0)};
}
template <class T>
ProductOperands<T> dense_operands(const KernelCall& call) {
  const auto& attributes = call.attributes<DenseAttributes>();
  return {.x = call.data<T>(1),
          .w = call.data<T>(2),
          .bias = attributes.has_bias ? call.data<T>(3) : nullptr,
          .out = call.data<T>(0),
          .activation = attributes.activation};
}

void run_matmul(const KernelCall& call, int tile) {
  const ProductShape shape = matmul_shape(call);
  if (shape.dtype == DType::float32) {
    run_product_tile(shape, matmul_operands<float>(call), tile, call.scratch);
  } else {
    run_product_tile(shape, matmul_operands<double>(call), tile, call.scratch);
  }
}
void run_dense(const KernelCall& call, int tile) {
  const ProductShape shape = dense_shape(call);
  if (shape.dtype == DType::float32) {
    run_product_tile(shape, dense_operands<float>(call), tile, call.scratch);
  } else {
    run_product_tile(shape, dense_operands<double>(call), tile, call.scratch);
  }
}

template <ProductShape (*shape_of)(const KernelCall&), void (*run)(const KernelCall&, int), Op op>
Kernel product_kernel() {
  return {.run = run,
          .tiles = [](const KernelCall& call) { return plan_product(shape_of(call)).tiles(); },
          .prepare =
              [](const KernelCall& call) {
                if (!is_floating(call.dtype(0))) throw_error(op_name(op, call.attributes_bytes), "is not for int64");
              },
          .scratch_bytes = [](const KernelCall& call) { return product_scratch_bytes(shape_of(call)); },
          .cost =  // sixteen multiplications and sums take about as long as the reading of an element elsewhere
          [](const KernelCall& call) {
            const ProductShape shape = shape_of(call);
            return shape.m * shape.n * std::max<std::int64_t>(1, shape.k) / 16;
          }};
}

}  // namespace

void add_matmul_kernels(Backend& backend) {
  backend.kernels[static_cast<std::size_t>(Op::matmul)] = product_kernel<matmul_shape, run_matmul, Op::matmul>();
  backend.kernels[static_cast<std::size_t>(Op::dense)] = product_kernel<dense_shape, run_dense, Op::dense>();
  backend.kernels[static_cast<std::size_t>(Op::dense_grad)] = dense_grad_kernel();
}

}  // namespace asyncgrad::detail
