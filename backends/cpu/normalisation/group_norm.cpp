// group_norm and its gradient: a tile is a range of rows, which are groups of samples.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/normalisation/group_norm_planes.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

int group_norm_tiles(const KernelCall& call) {
  const auto& a = call.attributes<GroupNormAttributes>();
  return static_cast<int>(norm_tiles(a.rows(), a.width()));
}

// The rows of a tile, without the operands that differ forwards and backwards.
template <class T>
GroupNormBlock<T> block_of(const GroupNormAttributes& a, Range rows, const T* x, T* out, T* statistics) {
  return {.rows = rows.end - rows.begin,
          .channels = a.channels,
          .inner = a.inner,
          .group = rows.begin % a.groups,
          .groups = a.groups,
          .epsilon = a.epsilon,
          .x = x + rows.begin * a.width(),
          .weight = nullptr,
          .bias = nullptr,
          .dy = nullptr,
          .out = out + rows.begin * a.width(),
          .mean = statistics + rows.begin,
          .inverse = statistics + a.rows() + rows.begin,
          .dweight = nullptr,
          .dbias = nullptr};
}
Range rows_of(const GroupNormAttributes& a, int tile) {
  return tile_range(a.rows(), norm_rows_per_tile(a.width()), tile);
}

void run_group_norm(const KernelCall& call, int tile) {
  const auto& a = call.attributes<GroupNormAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    GroupNormBlock<T> block = block_of(a, rows_of(a, tile), call.data<T>(2), call.data<T>(0), call.data<T>(1));
    if (a.has_weight) block.weight = call.data<T>(3);
    if (a.has_bias) block.bias = call.data<T>(a.has_weight ? 4 : 3);
    group_norm_planes().of<T>().forward(block);
  });
}

void run_group_norm_grad(const KernelCall& call, int tile) {
  const auto& a = call.attributes<GroupNormAttributes>();
  const int bias = a.has_weight ? 2 : 1, x = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Range rows = rows_of(a, tile);
    GroupNormBlock<T> block = block_of(a, rows, call.data<T>(x), call.data<T>(0), call.data<T>(x + 1));
    block.dy = call.data<T>(x + 2) + rows.begin * a.width();
    if (a.has_weight) block.weight = call.data<T>(x + 3);
    if (a.has_weight) block.dweight = call.data<T>(1) + rows.begin * a.channels;
    if (a.has_bias) block.dbias = call.data<T>(bias) + rows.begin * a.channels;
    group_norm_planes().of<T>().backward(block);
  });
}

}  // namespace

constinit const Kernel cpu_kernels::group_norm{.run = run_group_norm, .tiles = group_norm_tiles};
constinit const Kernel cpu_kernels::group_norm_grad{.run = run_group_norm_grad, .tiles = group_norm_tiles};

}  // namespace asyncgrad::detail
