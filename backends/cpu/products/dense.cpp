// The gradient through the activation and the bias of dense: dz = activation'(y) dy, and dbias, the sums of dz's
// columns, in one pass over memory. Tiles are ranges of columns. A column is summed in the same blocks of rows in every
// tile, so that tiles do not change its bits.
#include <algorithm>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/error.h"

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/products/dense.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef ASYNCGRAD_BACKENDS_CPU_DENSE_ONCE
#define ASYNCGRAD_BACKENDS_CPU_DENSE_ONCE
namespace asyncgrad::detail {

// Columns of (rows, columns) matrices whose rows are `stride` apart.
template <class T>
struct DenseGradBlock {
  std::int64_t rows, columns, stride;
  const T* y;  // null: no activation
  const T* dy;
  T* dz;
  T* dbias;  // or null
};

template <class T>
struct DenseGradLoops {
  void (*run)(const DenseGradBlock<T>& block, T* sums);  // sums: of the columns, and a vector more
};

}  // namespace asyncgrad::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes the rows of one block in order, and adds them up in `sums`.
template <class T>
void rows_of_block(const DenseGradBlock<T>& b, std::int64_t first_row, std::int64_t rows, T* sums) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  for (std::int64_t row = first_row; row < first_row + rows; ++row) {
    const std::int64_t start = row * b.stride;
    const bool first = row == first_row;
    std::int64_t j = 0;
    for (; j + lanes <= b.columns; j += lanes) {
      auto dz = hn::LoadU(d, b.dy + start + j);
      if (b.y != nullptr) dz = hn::IfThenElseZero(hn::Lt(zero, hn::LoadU(d, b.y + start + j)), dz);
      hn::StoreU(dz, d, b.dz + start + j);
      hn::StoreU(first ? dz : hn::Add(hn::LoadU(d, sums + j), dz), d, sums + j);
    }
    for (; j < b.columns; ++j) {
      const T dz = b.y == nullptr || b.y[start + j] > T{} ? b.dy[start + j] : T{};
      b.dz[start + j] = dz;
      sums[j] = first ? dz : sums[j] + dz;
    }
  }
}

template <class T>
void dense_grad(const DenseGradBlock<T>& b, T* sums) {
  constexpr std::int64_t block_rows = 32;
  if (b.dbias != nullptr) std::fill_n(b.dbias, b.columns, T{});
  for (std::int64_t row = 0; row < b.rows; row += block_rows) {
    rows_of_block(b, row, std::min(block_rows, b.rows - row), sums);
    if (b.dbias == nullptr) continue;
    for (std::int64_t j = 0; j < b.columns; ++j) b.dbias[j] += sums[j];
  }
}

FloatingLoops<DenseGradLoops> dense_grad_loops() { return {{dense_grad<float>}, {dense_grad<double>}}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

namespace {

HWY_EXPORT(dense_grad_loops);

const FloatingLoops<DenseGradLoops>& dense_grad_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(dense_grad_loops)();
  return loops;
}

// Columns of y (N, O), dy and dz.
std::int64_t column_count(const KernelCall& call) { return call.shape(0)[1]; }

// Short ranges of a row cost more than a second thread gains: (1024, 2048) takes 4.3 ms in ranges of 128 columns, and
// 1.6 ms in ranges of 1024.
int tiles(const KernelCall& call) {
  constexpr std::int64_t good_width = 1024, least_width = 256, least_work = 1 << 17;
  const std::int64_t columns = column_count(call);
  if (columns < 2 * least_width || call.numel(0) < least_work) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(columns / good_width, 2, 64));
}

template <class T>
DenseGradBlock<T> block_of(const KernelCall& call, std::int64_t first, std::int64_t last) {
  const auto& attributes = call.attributes<DenseAttributes>();
  const int y = attributes.has_bias ? 2 : 1;
  return {.rows = call.shape(0)[0],
          .columns = last - first,
          .stride = column_count(call),
          .y = attributes.activation == ActivationKind::relu ? call.data<T>(y) + first : nullptr,
          .dy = call.data<T>(y + 1) + first,
          .dz = call.data<T>(0) + first,
          .dbias = attributes.has_bias ? call.data<T>(1) + first : nullptr};
}

void run(const KernelCall& call, int tile) {
  constexpr std::int64_t line = 16;
  const std::int64_t columns = column_count(call), lines = divided_up(columns, line);
  const int count = tiles(call);
  const std::int64_t first = std::min(columns, lines * tile / count * line);
  const std::int64_t last = std::min(columns, lines * (tile + 1) / count * line);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    dense_grad_loops().of<T>().run(block_of<T>(call, first, last), reinterpret_cast<T*>(call.scratch));
  });
}

}  // namespace

constinit const Kernel cpu_kernels::dense_grad{
    .run = run,
    .tiles = tiles,
    .prepare =
        [](const KernelCall& call) {
          if (!is_floating(call.dtype(0))) throw_error("dense", "is not for int64");
        },
    .scratch_bytes = [](const KernelCall& call) { return (column_count(call) + 16) * call.element_bytes(0); },
    .cost = [](const KernelCall& call) { return 2 * call.numel(0); }};

}  // namespace asyncgrad::detail
#endif
