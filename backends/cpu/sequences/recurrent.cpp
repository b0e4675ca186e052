// The steps of recurrent layers: a tile is a range of a batch's sequences.
#include <fmt/format.h>

#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/sequences/recurrent_rows.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

// A step of one element costs about as much as this many additions.
constexpr std::int64_t cost_of_element = 16;

// dx has a row of h for each gate.
template <bool is_grad>
std::int64_t width(const KernelCall& call) {
  const int gates = is_grad ? gate_count(call.attributes<RecurrentAttributes>().kind) : 1;
  return call.shape(0)[-1] / gates;
}
std::int64_t rows_per_tile(std::int64_t width) { return items_per_tile(width * cost_of_element); }

template <bool is_grad>
int cell_tiles(const KernelCall& call) {
  return tile_count(call.shape(0)[0], rows_per_tile(width<is_grad>(call)));
}
template <bool is_grad>
std::int64_t cell_cost(const KernelCall& call) {
  return call.shape(0)[0] * width<is_grad>(call) * cost_of_element;
}

void check_lengths(const KernelCall& call) {
  const std::int64_t* const lengths = lengths_of(call);
  if (lengths == nullptr) return;
  const std::int64_t steps = call.attributes<RecurrentAttributes>().steps;
  for (std::int64_t i = 0; i < call.numel(call.view_count - 1); ++i) {
    if (lengths[i] >= 0 && lengths[i] <= steps) continue;
    throw_error("recurrent_cell", fmt::format("length {} at position {} is outside of 0 to {}", lengths[i], i, steps),
                ErrorKind::index);
  }
}

template <class T>
void keep(const CellRow<T>& row) {
  std::copy_n(row.h_before, row.n, row.h);
  if (row.c != nullptr) std::copy_n(row.c_before, row.n, row.c);
  if (row.gates != nullptr) std::fill_n(row.gates, kept_gates * row.n, T{0});
}

template <class T>
void run_rows(const KernelCall& call, Range rows) {
  const auto& a = call.attributes<RecurrentAttributes>();
  const CellRow<T> first = first_cell_row<T>(call);
  const std::int64_t* const lengths = lengths_of(call);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const CellRow<T> row = first.at(a.kind, i);
    if (lengths != nullptr && lengths[i] <= a.step) {
      keep(row);
    } else {
      recurrent_rows().of<T>().cell(a.kind, row);
    }
  }
}

// The gradient of keep().
template <class T>
void pass_on(const CellGradRow<T>& row, std::int64_t gates) {
  for (std::int64_t j = 0; j < row.n; ++j) row.carried_h[j] += row.dy[j] + row.dh[j];
  std::fill_n(row.dx, gates * row.n, T{0});
  if (row.dz != nullptr) std::fill_n(row.dz, gates * row.n, T{0});
}

template <class T>
void run_grad_rows(const KernelCall& call, Range rows) {
  const auto& a = call.attributes<RecurrentAttributes>();
  const CellGradRow<T> first = first_cell_grad_row<T>(call);
  const std::int64_t* const lengths = lengths_of(call);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const CellGradRow<T> row = first.at(a.kind, i);
    if (lengths != nullptr && lengths[i] <= a.step) {
      pass_on(row, gate_count(a.kind));
    } else {
      recurrent_rows().of<T>().cell_grad(a.kind, row);
    }
  }
}

void run_cell(const KernelCall& call, int tile) {
  const Range rows = tile_range(call.shape(0)[0], rows_per_tile(width<false>(call)), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) { run_rows<T>(call, rows); });
}
void run_cell_grad(const KernelCall& call, int tile) {
  const Range rows = tile_range(call.shape(0)[0], rows_per_tile(width<true>(call)), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) { run_grad_rows<T>(call, rows); });
}

}  // namespace

constinit const Kernel cpu_kernels::recurrent_cell{
    .run = run_cell, .tiles = cell_tiles<false>, .prepare = check_lengths, .cost = cell_cost<false>};
constinit const Kernel cpu_kernels::recurrent_cell_grad{
    .run = run_cell_grad, .tiles = cell_tiles<true>, .cost = cell_cost<true>};

}  // namespace asyncgrad::detail
