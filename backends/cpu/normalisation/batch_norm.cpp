// batch_norm and its gradient: a tile is a range of channels.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/normalisation/batch_norm_planes.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

// At least a cache line of columns is read at a time.
std::int64_t least_channels(const BatchNormAttributes& a) { return a.inner == 1 ? line_floats : 1; }
std::int64_t channels_per_tile(const BatchNormAttributes& a) {
  return std::max(least_channels(a), items_per_tile(a.outer * a.inner));
}
Range channels_of(const BatchNormAttributes& a, int tile) {
  return tile_range(a.channels, channels_per_tile(a), tile, least_channels(a));
}
int batch_norm_tiles(const KernelCall& call) {
  const auto& a = call.attributes<BatchNormAttributes>();
  return tile_count(a.channels, channels_per_tile(a));
}

// The part of a tile that both directions share.
template <class T>
BatchNormBlock<T> block_of(const KernelCall& call, Range channels, int statistics, int x) {
  const auto& a = call.attributes<BatchNormAttributes>();
  T* const mean = call.data<T>(statistics) + channels.begin;
  const std::int64_t count = channels.end - channels.begin, first = channels.begin * a.inner;
  auto* const sums = reinterpret_cast<double*>(call.scratch);
  return {.outer = a.outer,
          .channels = count,
          .inner = a.inner,
          .step = a.channels * a.inner,
          .epsilon = a.epsilon,
          .is_given = a.is_given,
          .x = call.data<T>(x) + first,
          .weight = nullptr,
          .bias = nullptr,
          .dy = nullptr,
          .out = call.data<T>(0) + first,
          .mean = mean,
          .variance = mean + a.channels,
          .inverse = mean + 2 * a.channels,
          .dweight = nullptr,
          .dbias = nullptr,
          .sums = sums,
          .running = reinterpret_cast<T*>(sums + batch_norm_sums * count)};
}

void run_batch_norm(const KernelCall& call, int tile) {
  const auto& a = call.attributes<BatchNormAttributes>();
  const Range channels = channels_of(a, tile);
  if (channels.begin == channels.end) return;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    BatchNormBlock<T> block = block_of<T>(call, channels, 1, 2);
    if (a.has_weight) block.weight = call.data<T>(3) + channels.begin;
    if (a.has_bias) block.bias = call.data<T>(a.has_weight ? 4 : 3) + channels.begin;
    batch_norm_planes().of<T>().forward(block);
  });
}

void run_batch_norm_grad(const KernelCall& call, int tile) {
  const auto& a = call.attributes<BatchNormAttributes>();
  const Range channels = channels_of(a, tile);
  if (channels.begin == channels.end) return;
  const int bias = a.has_weight ? 2 : 1, x = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    BatchNormBlock<T> block = block_of<T>(call, channels, x + 1, x);
    block.dy = call.data<T>(x + 2) + channels.begin * a.inner;
    if (a.has_weight) block.weight = call.data<T>(x + 3) + channels.begin;
    if (a.has_weight) block.dweight = call.data<T>(1) + channels.begin;
    if (a.has_bias) block.dbias = call.data<T>(bias) + channels.begin;
    batch_norm_planes().of<T>().backward(block);
  });
}

std::int64_t batch_norm_scratch(const KernelCall& call) {
  const auto& a = call.attributes<BatchNormAttributes>();
  const std::int64_t channels = std::min(channels_per_tile(a), a.channels);
  return channels * (batch_norm_sums * static_cast<std::int64_t>(sizeof(double)) +
                     batch_norm_running(a.inner) * call.element_bytes(0));
}

}  // namespace

constinit const Kernel cpu_kernels::batch_norm{
    .run = run_batch_norm, .tiles = batch_norm_tiles, .scratch_bytes = batch_norm_scratch};
constinit const Kernel cpu_kernels::batch_norm_grad{
    .run = run_batch_norm_grad, .tiles = batch_norm_tiles, .scratch_bytes = batch_norm_scratch};

}  // namespace asyncgrad::detail
