// matmul and dense by cuBLASLt.
#include <fmt/format.h>

#include <algorithm>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/product.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

template <Op op>
void check_type(const KernelCall& call) {
  const DType dtype = call.dtype(0);
  if (!row_of(op).dtypes.has(dtype)) throw_error(row_of(op).name, fmt::format("is not for {}", name(dtype)));
}

bool is_empty(const Product& product) { return product.rows == 0 || product.columns == 0; }

template <Product (*product_of)(const KernelCall&)>
std::int64_t scratch_bytes(const KernelCall& call) {
  const Product product = product_of(call);
  return is_empty(product) || product.depth == 0 ? 0 : multiply_scratch_bytes;
}

void finish(const KernelCall& call, bool has_bias, ActivationKind activation, bool is_zero) {
  visit_floating(call.dtype(0),
                 [&]<class T>(T) { finish_dense(call, has_bias ? call.data<T>(3) : nullptr, activation, is_zero); });
}

std::int64_t matrix_bytes(const View& view) {
  return view.shape[-1] * view.shape[-2] * static_cast<std::int64_t>(size_bytes(view.dtype));
}

// The products of the last of the leading axes in one call, once for each index of the others: there are others where x
// or w is repeated along some axes and not along the rest.
void run_matmul(const KernelCall& call, int) {
  Product product = matmul_product(call);
  if (is_empty(product)) return;
  if (product.depth == 0) {
    const FillAttributes zero{};
    return kernels::fill.run({call.views, 1, &zero, nullptr, call.launch}, 0);
  }
  const Shape leading = leading_axes(call.shape(0)), x = leading_axes(call.shape(1)), w = leading_axes(call.shape(2));
  const Broadcast broadcast(leading, {&x, &w}, 2);
  product.repeats_a = broadcast.column_step(1) == 0;
  product.repeats_b = broadcast.column_step(0) == 0;
  for (std::int64_t i = 0; i < leading.numel(); i += product.batches) {
    product.batches = std::min(broadcast.columns() - i % broadcast.columns(), max_batches);
    const auto matrix = [&](int operand, std::int64_t index) {
      return call.bytes(operand) + index * matrix_bytes(call.views[operand]);
    };
    multiply(call, product, {matrix(2, broadcast.offset(1, i)), matrix(1, broadcast.offset(0, i)), matrix(0, i)},
             "matmul");
  }
}

void run_dense(const KernelCall& call, int) {
  const auto& attributes = call.attributes<DenseAttributes>();
  const Product product = dense_product(call);
  if (is_empty(product)) return;
  if (product.depth == 0) return finish(call, attributes.has_bias, attributes.activation, true);
  const Matrices matrices{call.bytes(2), call.bytes(1), call.bytes(0), attributes.has_bias ? call.bytes(3) : nullptr};
  const bool needs_bias = !multiply(call, product, matrices, "dense") && attributes.has_bias;
  if (needs_bias || attributes.activation != ActivationKind::none) {
    finish(call, needs_bias, attributes.activation, false);
  }
}

}  // namespace

constinit const Kernel kernels::matmul{
    .run = run_matmul, .prepare = check_type<Op::matmul>, .scratch_bytes = scratch_bytes<matmul_product>};
constinit const Kernel kernels::dense{
    .run = run_dense, .prepare = check_type<Op::dense>, .scratch_bytes = scratch_bytes<dense_product>};

}  // namespace asyncgrad::detail::cuda
