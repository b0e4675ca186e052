// take, which copies rows, and take_grad, which adds them up.
#include <fmt/format.h>

#include <cstring>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

void check_indices(const char* operation, const KernelCall& call, int operand, std::int64_t rows) {
  const std::int64_t* const indices = call.data<std::int64_t>(operand);
  for (std::int64_t i = 0; i < call.numel(operand); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      throw_error(operation, fmt::format("index {} at position {} is outside {} rows", indices[i], i, rows));
    }
  }
}

// The number of elements in a row of operand `operand`.
std::int64_t row_elements(const KernelCall& call, int operand) {
  const Shape& shape = call.shape(operand);
  return shape[0] == 0 ? 0 : shape.numel() / shape[0];
}

// --- take: out (K, …), in (rows, …), indices (K)

void check_take(const KernelCall& call) { check_indices("take", call, 2, call.shape(1)[0]); }

int take_tiles(const KernelCall& call) { return tile_count(call.numel(2), items_per_tile(row_elements(call, 0))); }

void run_take(const KernelCall& call, int tile) {
  const std::int64_t elements = row_elements(call, 0);
  const Range range = tile_range(call.numel(2), items_per_tile(elements), tile);
  const auto row_bytes = static_cast<std::size_t>(elements) * size_bytes(call.dtype(0));
  if (row_bytes == 0) return;
  const std::int64_t* const indices = call.data<std::int64_t>(2);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    std::memcpy(call.bytes(0) + static_cast<std::size_t>(i) * row_bytes,
                call.bytes(1) + static_cast<std::size_t>(indices[i]) * row_bytes, row_bytes);
  }
}

// --- take_grad: dx (rows, …) += dy (K, …) at indices (K)
// A tile takes some columns of every row, so that each element is summed by one thread, in the order of i.

void check_take_grad(const KernelCall& call) { check_indices("take_grad", call, 1, call.shape(0)[0]); }

constexpr std::int64_t fewest_columns = 16;  // one cache line of float32

std::int64_t take_grad_columns(const KernelCall& call) {
  return std::max(fewest_columns, items_per_tile(call.numel(1)) / fewest_columns * fewest_columns);
}

int take_grad_tiles(const KernelCall& call) { return tile_count(row_elements(call, 2), take_grad_columns(call)); }

void run_take_grad(const KernelCall& call, int tile) {
  const std::int64_t elements = row_elements(call, 2);
  const Range columns = tile_range(elements, take_grad_columns(call), tile);
  const std::int64_t* const indices = call.data<std::int64_t>(1);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t i = 0; i < call.numel(1); ++i) {
      T* const dx = call.data<T>(0) + indices[i] * elements;
      const T* const dy = call.data<T>(2) + i * elements;
      for (std::int64_t j = columns.begin; j < columns.end; ++j) dx[j] += dy[j];
    }
  });
}

}  // namespace

void add_indexing_kernels(Backend& backend) {
  kernel_of(backend, Op::take) = {.run = run_take, .tiles = take_tiles, .prepare = check_take};
  kernel_of(backend, Op::take_grad) = {.run = run_take_grad, .tiles = take_grad_tiles, .prepare = check_take_grad};
}

}  // namespace asyncgrad::detail
