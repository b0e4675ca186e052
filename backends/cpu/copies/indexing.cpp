// Elements and rows by their indices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "asyncgrad/backends/cpu/copies/copy_rows.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/place_table.h"
#include "asyncgrad/core/backend/wrapping_sum.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

// Names the first of all indices that is outside.
[[noreturn]] void throw_bad_index(const char* operation, const std::int64_t* indices, std::int64_t extent,
                                  const char* what) {
  std::int64_t i = 0;
  while (indices[i] >= 0 && indices[i] < extent) ++i;
  throw_outside(operation, "index", indices[i], i, extent, what);
}

// Checks some of an operand's indices.
void check_indices(const char* operation, const KernelCall& call, int operand, Range some, std::int64_t extent,
                   const char* what) {
  const std::int64_t* const indices = call.data<std::int64_t>(operand);
  // The bit is set for an index that is negative, or too large, which makes the difference negative. There is no
  // branch, so that the compiler checks several indices at once.
  std::uint64_t signs = 0;
  for (std::int64_t i = some.begin; i < some.end; ++i) {
    const auto index = static_cast<std::uint64_t>(indices[i]);
    signs |= index | (static_cast<std::uint64_t>(extent) - 1 - index);
  }
  if (signs >> 63 != 0) throw_bad_index(operation, indices, extent, what);
}
void check_indices(const char* operation, const KernelCall& call, int operand, std::int64_t extent,
                   const char* what = "rows") {
  check_indices(operation, call, operand, {0, call.numel(operand)}, extent, what);
}

// The elements that move count, and the indices; not all among which they lie.
template <int moved, int indices>
std::int64_t moved_cost(const KernelCall& call) {
  return call.numel(moved) + call.numel(indices);
}

// Indices k, k + 1, … whose values are neighbours, too.
struct Run {
  std::int64_t k, index, count;
};

// All indices as a few runs, as those of a tensor that is shifted are, or as none if they make more.
class Runs {
 public:
  Runs(const std::int64_t* indices, std::int64_t count) {
    for (std::int64_t k = 0; k < count;) {
      if (count_ == runs_.size()) {
        count_ = 0;
        return;
      }
      Run run{k, indices[k], 1};
      while (k + run.count < count && indices[k + run.count] == run.index + run.count) ++run.count;
      runs_[count_++] = run;
      k += run.count;
    }
  }
  bool empty() const { return count_ == 0; }
  const Run* begin() const { return runs_.data(); }
  const Run* end() const { return runs_.data() + count_; }

 private:
  std::array<Run, 8> runs_;
  std::size_t count_ = 0;
};

// --- take: out (outer, K, inner), in (outer, axis, inner), indices (K)

void check_take(const KernelCall& call) { check_indices("take", call, 2, call.attributes<IndexAttributes>().axis); }

int take_tiles(const KernelCall& call) {
  const auto& seen = call.attributes<IndexAttributes>();
  return tile_count(seen.outer * call.numel(2), items_per_tile(seen.inner));
}

template <class T>
void take_rows(const KernelCall& call, Range rows) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t count = call.numel(2);
  const std::int64_t* const indices = call.data<std::int64_t>(2);
  T* out = call.data<T>(0) + rows.begin * seen.inner;
  std::int64_t k = rows.begin % count;
  const T* in = call.data<T>(1) + rows.begin / count * seen.axis * seen.inner;
  for (std::int64_t row = rows.begin; row < rows.end; ++row, out += seen.inner) {
    copy_rows(out, seen.inner, in + indices[k] * seen.inner, seen.inner, 1, seen.inner);
    if (++k == count) k = 0, in += seen.axis * seen.inner;
  }
}

// Does the same in larger pieces: a run in a part of a matrix, or in several whole matrices.
template <class T>
void take_runs(const KernelCall& call, const Runs& runs, Range rows) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t count = call.numel(2);
  for (std::int64_t row = rows.begin; row < rows.end;) {
    const std::int64_t matrix = row / count, first = row % count;
    const std::int64_t matrices = first == 0 ? std::max<std::int64_t>(1, (rows.end - row) / count) : 1;
    const std::int64_t last = std::min(count, first + rows.end - row);
    for (const Run& run : runs) {
      const std::int64_t begin = std::max(first, run.k), end = std::min(last, run.k + run.count);
      if (begin >= end) continue;
      copy_rows(call.data<T>(0) + (matrix * count + begin) * seen.inner, count * seen.inner,
                call.data<T>(1) + (matrix * seen.axis + run.index + begin - run.k) * seen.inner, seen.axis * seen.inner,
                matrices, (end - begin) * seen.inner);
    }
    row += (matrices - 1) * count + last - first;
  }
}

void run_take(const KernelCall& call, int tile) {
  if (call.numel(0) == 0) return;
  const auto& seen = call.attributes<IndexAttributes>();
  const Range rows = tile_range(seen.outer * call.numel(2), items_per_tile(seen.inner), tile);
  const Runs runs(call.data<std::int64_t>(2), call.numel(2));
  visit_size(call.dtype(0), [&]<class T>(T) {
    if (runs.empty()) return take_rows<T>(call, rows);
    take_runs<T>(call, runs, rows);
  });
}

// --- take_grad: dx (outer, axis, inner) += dy (outer, K, inner) at indices (K)
// A tile takes some columns of every row, or all of some matrices, so that each element is summed by one thread, in the
// order of k.

void check_take_grad(const KernelCall& call) {
  check_indices("take_grad", call, 1, call.attributes<IndexAttributes>().axis);
}

// The tiles of sums along an axis: some columns of each of `outer` matrices (K, inner), or all columns of several
// matrices.
struct ColumnTiles {
  static constexpr std::int64_t min_columns = line_floats;

  std::int64_t outer, matrices, inner, columns;

  ColumnTiles(const IndexAttributes& seen, std::int64_t count)
      : outer(seen.outer), matrices(items_per_tile(count * seen.inner)), inner(seen.inner) {
    columns = matrices > 1 ? inner : std::max(min_columns, items_per_tile(count) / min_columns * min_columns);
    columns = std::max<std::int64_t>(1, columns);
  }
  int parts() const { return tile_count(inner, columns); }
  int count() const { return tile_count(outer, matrices) * parts(); }
  Range matrices_of(int tile) const { return tile_range(outer, matrices, tile / parts()); }
  Range columns_of(int tile) const { return tile_range(inner, columns, tile % parts(), min_columns); }
};

int take_grad_tiles(const KernelCall& call) {
  return ColumnTiles(call.attributes<IndexAttributes>(), call.numel(1)).count();
}

void run_take_grad(const KernelCall& call, int tile) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t count = call.numel(1);
  const ColumnTiles tiles(seen, count);
  const Range matrices = tiles.matrices_of(tile), columns = tiles.columns_of(tile);
  const std::int64_t* const indices = call.data<std::int64_t>(1);
  // Rows of a run are adjacent if all their columns are added.
  const bool has_whole_rows = columns.end - columns.begin == seen.inner;
  const Runs runs(indices, has_whole_rows ? count : 0);
  visit_summed(call.dtype(0), [&]<class T>(T) {
    const auto add = [&](std::int64_t matrix, const Run& run, Range elements) {
      T* const dx = call.data<T>(0) + (matrix * seen.axis + run.index) * seen.inner;
      const T* const dy = call.data<T>(2) + (matrix * count + run.k) * seen.inner;
      for (std::int64_t j = elements.begin; j < elements.end; ++j) dx[j] = wrapping_sum(dx[j], dy[j]);
    };
    for (std::int64_t o = matrices.begin; o < matrices.end; ++o) {
      for (const Run& run : runs) add(o, run, {0, run.count * seen.inner});
      if (!runs.empty()) continue;
      for (std::int64_t k = 0; k < count; ++k) add(o, {k, indices[k], 1}, columns);
    }
  });
}

// --- gather: out (outer, K, inner), in (outer, axis, inner), indices (outer, K, inner)

// K of the operand with the indices.
std::int64_t indices_along(const KernelCall& call, int operand) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t others = seen.outer * seen.inner;
  return others == 0 ? 0 : call.numel(operand) / others;
}

int gather_tiles(const KernelCall& call) {
  const auto& seen = call.attributes<IndexAttributes>();
  return tile_count(seen.outer * indices_along(call, 2), items_per_tile(seen.inner));
}

// Rows [begin, end) of all matrices, each with `inner` elements.
template <class T>
void gather_rows(const KernelCall& call, std::int64_t count, Range rows) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t matrix = seen.axis * seen.inner;
  const std::int64_t* indices = call.data<std::int64_t>(2) + rows.begin * seen.inner;
  T* out = call.data<T>(0) + rows.begin * seen.inner;
  const T* in = call.data<T>(1) + rows.begin / count * matrix;
  if (seen.inner > 1) {
    std::int64_t k = rows.begin % count;
    for (std::int64_t row = rows.begin; row < rows.end; ++row, indices += seen.inner, out += seen.inner) {
      for (std::int64_t i = 0; i < seen.inner; ++i) out[i] = in[indices[i] * seen.inner + i];
      if (++k == count) k = 0, in += matrix;
    }
    return;
  }
  if (count == 1) {
    for (std::int64_t i = 0; i < rows.end - rows.begin; ++i) out[i] = in[i * matrix + indices[i]];
    return;
  }
  // A loop for all rows of a matrix.
  for (std::int64_t row = rows.begin, k = rows.begin % count; row < rows.end; k = 0, in += matrix) {
    const std::int64_t some = std::min(rows.end - row, count - k);
    for (std::int64_t i = 0; i < some; ++i) out[i] = in[indices[i]];
    row += some, indices += some, out += some;
  }
}

void run_gather(const KernelCall& call, int tile) {
  if (call.numel(0) == 0) return;
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t count = indices_along(call, 2);
  const Range rows = tile_range(seen.outer * count, items_per_tile(seen.inner), tile);
  // Each tile checks its own indices, and a few at a time, so that they are still in the cache when they are used.
  const std::int64_t some = std::max<std::int64_t>(1, 1024 / seen.inner);
  for (std::int64_t begin = rows.begin; begin < rows.end; begin += some) {
    const Range part{begin, std::min(rows.end, begin + some)};
    check_indices("gather", call, 2, {part.begin * seen.inner, part.end * seen.inner}, seen.axis, "rows");
    visit_size(call.dtype(0), [&]<class T>(T) { gather_rows<T>(call, count, part); });
  }
}

// --- scatter_add: out (outer, axis, inner) += in (outer, K, inner) at indices (outer, K, inner), in the order of k

int scatter_add_tiles(const KernelCall& call) {
  return ColumnTiles(call.attributes<IndexAttributes>(), indices_along(call, 1)).count();
}

void run_scatter_add(const KernelCall& call, int tile) {
  const auto& seen = call.attributes<IndexAttributes>();
  const std::int64_t count = indices_along(call, 1);
  const ColumnTiles tiles(seen, count);
  const Range matrices = tiles.matrices_of(tile), columns = tiles.columns_of(tile);
  const auto check = [&](Range some) { check_indices("scatter_add", call, 1, some, seen.axis, "rows"); };
  visit_summed(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t o = matrices.begin; o < matrices.end; ++o) {
      T* const out = call.data<T>(0) + o * seen.axis * seen.inner;
      if (seen.inner == 1) {
        check({o * count, (o + 1) * count});
        const std::int64_t* const indices = call.data<std::int64_t>(1) + o * count;
        const T* const in = call.data<T>(2) + o * count;
        for (std::int64_t k = 0; k < count; ++k) out[indices[k]] = wrapping_sum(out[indices[k]], in[k]);
        continue;
      }
      for (std::int64_t row = o * count; row < (o + 1) * count; ++row) {
        check({row * seen.inner + columns.begin, row * seen.inner + columns.end});
        const std::int64_t* const indices = call.data<std::int64_t>(1) + row * seen.inner;
        const T* const in = call.data<T>(2) + row * seen.inner;
        for (std::int64_t i = columns.begin; i < columns.end; ++i) {
          T& sum = out[indices[i] * seen.inner + i];
          sum = wrapping_sum(sum, in[i]);
        }
      }
    }
  });
}

// --- put: out, indices (n), in (n). One thread writes them all, so that the last one stays where indices are equal.

void check_put(const KernelCall& call) { check_indices("put", call, 1, call.numel(0), "elements"); }

void run_put(const KernelCall& call, int) {
  const std::int64_t* const indices = call.data<std::int64_t>(1);
  visit_size(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    const T* const in = call.data<T>(2);
    for (std::int64_t k = 0; k < call.numel(1); ++k) out[indices[k]] = in[k];
  });
}

// --- first_places: out (n), indices (n). The scratch memory is a table of first places, hashed by their indices.

void check_first_places(const KernelCall& call) {
  check_indices("first_places", call, 1, call.attributes<IndexAttributes>().axis);
}

void run_first_places(const KernelCall& call, int) {
  const std::int64_t* const indices = call.data<std::int64_t>(1);
  const PlaceTable table(call.numel(1));
  const std::span<std::int64_t> places(reinterpret_cast<std::int64_t*>(call.scratch), table.slots);
  std::ranges::fill(places, -1);
  for (std::int64_t k = 0; k < call.numel(1); ++k) {
    std::uint64_t slot = table.first_slot(indices[k]);
    while (places[slot] >= 0 && indices[places[slot]] != indices[k]) slot = table.next_slot(slot);
    if (places[slot] < 0) places[slot] = k;
    call.data<std::int64_t>(0)[k] = places[slot];
  }
}

std::int64_t first_places_scratch(const KernelCall& call) {
  return static_cast<std::int64_t>(PlaceTable(call.numel(1)).slots * sizeof(std::int64_t));
}

// --- ravel_multi_index: out (n), indices (n) of each axis

// Names the first index of all that is outside.
[[noreturn]] void throw_bad_multi_index(const KernelCall& call) {
  const auto& extents = call.attributes<MultiIndexAttributes>().extents;
  for (int axis = 0;; ++axis) {
    const std::int64_t* const indices = call.data<std::int64_t>(1 + axis);
    const std::int64_t extent = extents[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < call.numel(0); ++i) {
      if (indices[i] >= -extent && indices[i] < extent) continue;
      throw_error("ravel_multi_index",
                  fmt::format("index {} at position {} of indices[{}] is outside [{}, {})", indices[i], i, axis,
                              -extent, extent),
                  ErrorKind::index);
    }
  }
}

// Gives the places of a few elements, as unsigned numbers, which may overflow where an index is outside; false: one is.
bool ravel(const KernelCall& call, Range some) {
  auto* const out = call.data<std::uint64_t>(0);
  std::uint64_t signs = 0;  // as in check_indices()
  for (int input = 1; input < call.view_count; ++input) {
    const auto* const indices = call.data<std::uint64_t>(input);
    const auto axis = static_cast<std::size_t>(input - 1);
    const auto extent = static_cast<std::uint64_t>(call.attributes<MultiIndexAttributes>().extents[axis]);
    for (std::int64_t i = some.begin; i < some.end; ++i) {
      const std::uint64_t index = indices[i] + (extent & -(indices[i] >> 63));
      signs |= index | (extent - 1 - index);
      out[i] = (input == 1 ? 0 : out[i] * extent) + index;
    }
  }
  return signs >> 63 == 0;
}

int ravel_tiles(const KernelCall& call) { return loop_tile_count(call.numel(0)); }

void run_ravel(const KernelCall& call, int tile) {
  const Range elements = loop_tile_range(call.numel(0), tile);
  constexpr std::int64_t some = 1024;  // which are still in the cache for the next axis
  for (std::int64_t begin = elements.begin; begin < elements.end; begin += some) {
    if (!ravel(call, {begin, std::min(elements.end, begin + some)})) throw_bad_multi_index(call);
  }
}

// --- one_hot: out (…, C), indices (…)

std::int64_t classes_of(const KernelCall& call) { return call.shape(0)[-1]; }

void check_one_hot(const KernelCall& call) { check_indices("one_hot", call, 1, classes_of(call), "classes"); }

int one_hot_tiles(const KernelCall& call) { return tile_count(call.numel(1), items_per_tile(classes_of(call))); }

void run_one_hot(const KernelCall& call, int tile) {
  const std::int64_t classes = classes_of(call);
  const Range rows = tile_range(call.numel(1), items_per_tile(classes), tile);
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    std::fill(out + rows.begin * classes, out + rows.end * classes, T{});
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      out[i * classes + call.data<std::int64_t>(1)[i]] = static_cast<T>(1.0F);
  });
}

}  // namespace

constinit const Kernel cpu_kernels::take{
    .run = run_take, .tiles = take_tiles, .prepare = check_take, .cost = moved_cost<0, 2>};
constinit const Kernel cpu_kernels::take_grad{
    .run = run_take_grad, .tiles = take_grad_tiles, .prepare = check_take_grad, .cost = moved_cost<2, 1>};
constinit const Kernel cpu_kernels::gather{.run = run_gather, .tiles = gather_tiles, .cost = moved_cost<0, 2>};
constinit const Kernel cpu_kernels::scatter_add{
    .run = run_scatter_add, .tiles = scatter_add_tiles, .cost = moved_cost<2, 1>};
constinit const Kernel cpu_kernels::put{.run = run_put, .prepare = check_put, .cost = moved_cost<2, 1>};
constinit const Kernel cpu_kernels::first_places{
    .run = run_first_places, .prepare = check_first_places, .scratch_bytes = first_places_scratch};
constinit const Kernel cpu_kernels::ravel_multi_index{.run = run_ravel, .tiles = ravel_tiles};
constinit const Kernel cpu_kernels::one_hot{.run = run_one_hot, .tiles = one_hot_tiles, .prepare = check_one_hot};

}  // namespace asyncgrad::detail
