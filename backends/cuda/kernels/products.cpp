// matmul and dense by cuBLASLt.
#include <array>
#include <span>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/product.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

void check_type(const char* operation, const KernelCall& call) {
  if (!is_floating(call.dtype(0))) throw_error(operation, "is not for int64");
}

bool is_empty(const Product& product) { return product.rows == 0 || product.columns == 0; }

template <Product (*product_of)(const KernelCall&)>
std::int64_t scratch_bytes(const KernelCall& call) {
  const Product product = product_of(call);
  return is_empty(product) || product.depth == 0 ? 0 : multiply_scratch_bytes;
}

void finish(const KernelCall& call, int bias, ActivationKind activation, bool is_zero) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    finish_dense(call, bias < call.view_count ? call.data<T>(bias) : nullptr, activation, is_zero);
  });
}

void run_one_matmul(const KernelCall& call) {
  const Product product = matmul_product(call);
  if (is_empty(product)) return;
  if (product.depth == 0) return finish(call, 3, ActivationKind::none, true);
  multiply(call, product, "matmul");
}

// One product after another for each index of the leading axes, in which x and w may be repeated.
void run_matmul(const KernelCall& call, int) {
  const Shape leading = leading_axes(call.shape(0)), x = leading_axes(call.shape(1)), w = leading_axes(call.shape(2));
  const Broadcast broadcast(leading, {&x, &w}, 2);
  std::array<View, 3> views;
  for (std::int64_t i = 0; i < leading.numel(); ++i) {
    const std::array<std::int64_t, 3> matrices = {i, broadcast.offset(0, i), broadcast.offset(1, i)};
    for (std::size_t k = 0; k < views.size(); ++k) {
      const View& all = call.views[k];
      const Shape one{all.shape[-2], all.shape[-1]};
      views[k] = all;
      views[k].shape = one;
      views[k].data += matrices[k] * one.numel() * static_cast<std::int64_t>(size_bytes(all.dtype));
    }
    run_one_matmul({views.data(), 3, call.attributes_bytes, call.scratch, call.launch});
  }
}

void run_dense(const KernelCall& call, int) {
  const auto& attributes = call.attributes<DenseAttributes>();
  const Product product = dense_product(call);
  if (is_empty(product)) return;
  if (product.depth == 0) return finish(call, 3, attributes.activation, true);
  multiply(call, product, "dense");
  if (product.has_bias == attributes.has_bias && product.activation == attributes.activation) return;
  finish(call, 3, attributes.activation, false);
}

}  // namespace

constinit const Kernel kernels::matmul{.run = run_matmul,
                                       .prepare = [](const KernelCall& call) { check_type("matmul", call); },
                                       .scratch_bytes = scratch_bytes<matmul_product>};
constinit const Kernel kernels::dense{.run = run_dense,
                                      .prepare = [](const KernelCall& call) { check_type("dense", call); },
                                      .scratch_bytes = scratch_bytes<dense_product>};

}  // namespace asyncgrad::detail::cuda
