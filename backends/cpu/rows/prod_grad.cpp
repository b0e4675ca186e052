// The gradient of a product along an axis.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/prod_grad_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

void run_prod_grad(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const dx = call.data<T>(0);
    const T *const x = call.data<T>(1), *const dy = call.data<T>(2);
    auto* const behind = reinterpret_cast<double*>(call.scratch);
    const auto with = [&](auto loop) {
      return [=](const Strip<T>& strip, std::int64_t line) { loop(strip, dy + line, dx + (strip.data - x), behind); };
    };
    const ProdGradLoops<T>& loops = prod_grad_loops().of<T>();
    each_strip<ReduceAttributes>(call, tile, x, with(loops.rows), with(loops.columns));
  });
}

std::int64_t scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return prod_grad_scratch(a.axis, a.inner) * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace

constinit const Kernel cpu_kernels::prod_grad{
    .run = run_prod_grad, .tiles = strip_tiles<ReduceAttributes>, .scratch_bytes = scratch_bytes};

}  // namespace asyncgrad::detail
