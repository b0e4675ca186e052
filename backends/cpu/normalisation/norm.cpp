// layer_norm, rms_norm and their gradients: a tile is a range of rows.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/normalisation/norm_rows.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

int norm_tile_count(const KernelCall& call) {
  const auto& a = call.attributes<NormAttributes>();
  return static_cast<int>(norm_tiles(a.rows, a.width));
}

// The rows of a tile, without the operands that differ forwards and backwards.
template <class T>
NormBlock<T> block_of(const NormAttributes& a, Range rows, const T* x, T* out, T* statistics) {
  return {.rows = rows.end - rows.begin,
          .n = a.width,
          .epsilon = a.epsilon,
          .is_rms = a.is_rms,
          .x = x + rows.begin * a.width,
          .weight = nullptr,
          .bias = nullptr,
          .dy = nullptr,
          .out = out + rows.begin * a.width,
          .mean = statistics + rows.begin,
          .inverse = statistics + a.rows + rows.begin,
          .dweight = nullptr,
          .dbias = nullptr,
          .running = nullptr};
}
Range rows_of(const NormAttributes& a, int tile) { return tile_range(a.rows, norm_rows_per_tile(a.width), tile); }

void run_norm(const KernelCall& call, int tile) {
  const auto& a = call.attributes<NormAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    NormBlock<T> block = block_of(a, rows_of(a, tile), call.data<T>(2), call.data<T>(0), call.data<T>(1));
    if (a.has_weight) block.weight = call.data<T>(3);
    if (a.has_bias) block.bias = call.data<T>(a.has_weight ? 4 : 3);
    norm_rows().of<T>().forward(block);
  });
}

void run_norm_grad(const KernelCall& call, int tile) {
  const auto& a = call.attributes<NormAttributes>();
  if (a.width == 0) return;
  const int bias = a.has_weight ? 2 : 1, x = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Range rows = rows_of(a, tile);
    NormBlock<T> block = block_of(a, rows, call.data<T>(x), call.data<T>(0), call.data<T>(x + 1));
    block.dy = call.data<T>(x + 2) + rows.begin * a.width;
    block.running = reinterpret_cast<T*>(call.scratch);
    if (a.has_weight) block.weight = call.data<T>(x + 3);
    if (a.has_weight) block.dweight = call.data<T>(1) + tile * a.width;
    if (a.has_bias) block.dbias = call.data<T>(bias) + tile * a.width;
    norm_rows().of<T>().backward(block);
  });
}

std::int64_t grad_scratch(const KernelCall& call) {
  return 2 * call.attributes<NormAttributes>().width * call.element_bytes(0);
}

}  // namespace

constinit const Kernel cpu_kernels::layer_norm{.run = run_norm, .tiles = norm_tile_count};
constinit const Kernel cpu_kernels::layer_norm_grad{
    .run = run_norm_grad, .tiles = norm_tile_count, .scratch_bytes = grad_scratch};

}  // namespace asyncgrad::detail
