// Copies between a whole tensor and some elements of another, and concat. Elements that are adjacent in both are moved
// in one piece. If the tensors have different innermost axes, elements are moved in square blocks, so that neither
// tensor is accessed with a stride for long.
#include <hwy/highway.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "asyncgrad/backends/cpu/copies/copy_rows.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/cpu/vectors/pack_rows.h"
#include "asyncgrad/backends/cpu/vectors/prefetch.h"
#include "asyncgrad/backends/cpu/vectors/transpose-inl.h"
#include "asyncgrad/backends/divided.h"
#include "asyncgrad/backends/strided_axes.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t block = line_floats;

using Axis = StridedAxis;

// The innermost loops.
enum class Loops : std::uint8_t {
  rows,     // for each index of `across` all of `along`
  columns,  // for each index of `along` all of `across`
  blocks,
  repeats  // as rows, which follow each other and repeat one element each
};

// The elements as matrices: `along` is the axis with the shortest stride in out, `across` is the axis with the shortest
// stride in `in`, or any other axis if that is `along`. A unit is a part of such a matrix; units are counted by
// `digits`.
struct Plan {
  std::int64_t out = 0, in = 0;  // the places of the first element
  Axis across, along;
  std::int64_t rows = 1, columns = 1;  // of a unit, along `across` and `along`
  std::int64_t of_tile = 0;            // elements
  Loops loops = Loops::rows;
  std::array<Axis, Shape::max_rank + 1> digits{};  // the other axes, then the parts of `across`, those of `along`
  std::size_t digit_count = 0;
  std::int64_t units = 0;

  std::int64_t units_per_tile() const { return items_per_tile(rows * columns, of_tile); }
  void add_digit(const Axis& axis) {
    digits[digit_count++] = axis;
    units *= axis.extent;
  }
  void add_parts(const Axis& axis, std::int64_t size) {
    add_digit({divided_up(axis.extent, size), size * axis.out, size * axis.in});
  }
};

void choose_loops(Plan& plan, StridedAxes& axes) {
  plan.along = axes.count > 0 ? axes.take(axes.shortest(&Axis::out)) : Axis{1, 1, 1};
  plan.across = Axis{};
  if (axes.count == 0) return;
  const int other = axes.shortest(&Axis::in);
  const Axis& candidate = axes.axes[other];
  const bool is_repeated = plan.along.in == 0 || candidate.in == 0;
  if (is_repeated || std::abs(candidate.in) >= std::abs(plan.along.in)) {
    plan.across = axes.take(axes.shortest(&Axis::out));
    constexpr std::int64_t few = 8;  // of which a row takes longer to begin than to write
    if (plan.along.in == 0 && plan.along.extent < std::min(few, plan.across.extent)) plan.loops = Loops::columns;
    return;
  }
  plan.across = axes.take(other);
  if (plan.along.extent >= block && plan.across.extent >= block) {
    plan.loops = Loops::blocks;
  } else if (plan.along.extent < plan.across.extent) {
    plan.loops = Loops::columns;
  }
}

// Whether repeat_elements() does it.
bool can_repeat(const KernelCall& call) {
  return !call.attributes<StridedCopyAttributes>().adds && size_bytes(call.dtype(0)) >= 4;
}

Plan make_plan(const KernelCall& call) {
  constexpr std::int64_t longest = 4096;  // of an axis with a stride: what is read again is still in the cache
  const auto& attributes = call.attributes<StridedCopyAttributes>();
  Plan plan;
  const std::int64_t count = call.numel(attributes.into ? 1 : 0);
  if (count == 0) return plan;
  plan.of_tile = loop_tile_elements(count);
  (attributes.into ? plan.out : plan.in) = attributes.offset;
  StridedAxes axes = joined_axes(call);
  choose_loops(plan, axes);
  const bool is_repeated = plan.along.out == 1 && plan.along.in == 0 && plan.across.out == plan.along.extent;
  if (is_repeated && plan.along.extent <= longest && can_repeat(call)) plan.loops = Loops::repeats;
  const bool is_adjacent = plan.along.out == 1 && plan.along.in == 1;
  plan.columns = std::min(plan.along.extent, is_adjacent ? plan.of_tile : longest);
  plan.rows = std::min(plan.across.extent, plan.loops == Loops::blocks    ? block
                                           : plan.loops == Loops::columns ? longest
                                                                          : items_per_tile(plan.columns, plan.of_tile));
  plan.units = 1;
  for (int i = 0; i < axes.count; ++i) plan.add_digit(axes.axes[i]);
  plan.add_parts(plan.across, plan.rows);
  plan.add_parts(plan.along, plan.columns);
  return plan;
}

// One row; strides of one are known to the compiler.
template <bool adds, class T>
void move_row(T* out, std::int64_t out_stride, const T* in, std::int64_t in_stride, std::int64_t count) {
  if (out_stride == 1 && in_stride == 1) {
    for (std::int64_t j = 0; j < count; ++j) put<adds>(out[j], in[j]);
  } else if (out_stride == 1 && in_stride == 0) {
    const T value = *in;
    for (std::int64_t j = 0; j < count; ++j) put<adds>(out[j], value);
  } else if (out_stride == 1 && in_stride == -1) {
    constexpr std::int64_t some = 256;  // of a later row, which the processor would ask for too late
    for (std::int64_t first = 0; first < count; first += some) {
      const std::int64_t end = std::min(count, first + some);
      prefetch(in - end + prefetched_ahead, end - first);
      for (std::int64_t j = first; j < end; ++j) put<adds>(out[j], in[-j]);
    }
  } else if (out_stride == 1) {
    for (std::int64_t j = 0; j < count; ++j) put<adds>(out[j], in[j * in_stride]);
  } else {
    for (std::int64_t j = 0; j < count; ++j) put<adds>(out[j * out_stride], in[j * in_stride]);
  }
}

template <bool adds, class T>
void move_rows(T* out, const T* in, const Axis& across, const Axis& along, std::int64_t rows, std::int64_t columns) {
  if constexpr (!adds) {
    if (along.out == 1 && along.in == 1) return copy_rows(out, across.out, in, across.in, rows, columns);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    move_row<adds>(out + r * across.out, along.out, in + r * across.in, along.in, columns);
  }
}

// Writes whole vectors, but not in the last rows, where they would go beyond the end.
template <class T>
void repeat_elements(T* out, const T* in, std::int64_t in_stride, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t together = 64;  // a multiple of the elements of a vector
  const std::int64_t most = (rows - 1) / together * together;
  if (most > 0) {
    const RowPacking& packing = row_packing(sizeof(T));
    RepeatOrder order;
    const bool has_order = packing.find_order(columns, order);
    packing.pack({in, in_stride, most, columns, 0}, has_order ? &order : nullptr, out);
  }
  for (std::int64_t r = most; r < rows; ++r) std::fill_n(out + r * columns, columns, in[r * in_stride]);
}

// A block goes through a buffer, so that each cache line of both tensors is touched once. If the stride is a power of
// two, the lines of a block fall into so few sets of the cache that they would be evicted.
template <bool adds, class T>
inline void move_block(T* out, const T* in, const Axis& across, const Axis& along, std::int64_t rows,
                       std::int64_t columns) {
  if (columns <= 2) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t r = 0; r < rows; ++r)
        put<adds>(out[r * across.out + j * along.out], in[j * along.in + r * across.in]);
    }
    return;
  }
  T buffer[block][block];
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t r = 0; r < rows; ++r) buffer[j][r] = in[j * along.in + r * across.in];
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; ++j) put<adds>(out[r * across.out + j * along.out], buffer[j][r]);
  }
}
// Does the same for a whole block whose rows are adjacent elements in both tensors.
template <bool adds, class T>
HWY_ATTR void move_plain_block(T* out, std::int64_t out_row, const T* in, std::int64_t in_row) {
  if constexpr (sizeof(T) < 4) {
    move_block<adds>(out, in, {block, out_row, 1}, {block, 1, in_row}, block, block);
  } else {
    alignas(64) T buffer[block][block];
    constexpr std::int64_t square = 16 / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < block; i += square) {
      for (std::int64_t j = 0; j < block; j += square) {
        HWY_NAMESPACE::transpose_square(in + i * in_row + j, in_row, &buffer[j][i], block);
      }
    }
    for (std::int64_t r = 0; r < block; ++r) {
      for (std::int64_t j = 0; j < block; ++j) put<adds>(out[r * out_row + j], buffer[r][j]);
    }
  }
}

template <bool adds, class T>
void move_blocks(T* out, const T* in, Axis across, Axis along, std::int64_t rows, std::int64_t columns) {
  const bool is_plain = across.in == 1 && along.out == 1;
  for (std::int64_t first = 0; first < columns; first += block, out += block * along.out, in += block * along.in) {
    const std::int64_t count = std::min(block, columns - first);
    if (is_plain && rows == block && count == block) {
      move_plain_block<adds>(out, across.out, in, along.in);
    } else {
      move_block<adds>(out, in, across, along, rows, count);
    }
  }
}

template <bool adds, class T>
void move_unit(const Plan& plan, T* out, const T* in, std::int64_t rows, std::int64_t columns) {
  switch (plan.loops) {
    case Loops::rows:
      return move_rows<adds>(out, in, plan.across, plan.along, rows, columns);
    case Loops::columns:
      return move_rows<adds>(out, in, plan.along, plan.across, columns, rows);
    case Loops::blocks:
      return move_blocks<adds>(out, in, plan.across, plan.along, rows, columns);
    case Loops::repeats:
      if constexpr (!adds && sizeof(T) >= 4) repeat_elements(out, in, plan.across.in, rows, columns);
      return;
  }
}

template <bool adds, class T>
void move_units(const Plan& plan, T* out, const T* in, Range units) {
  std::array<std::int64_t, Shape::max_rank + 1> at{};
  out += plan.out;
  in += plan.in;
  std::int64_t rest = units.begin;
  for (std::size_t i = plan.digit_count; i-- > 0;) {
    const Axis& digit = plan.digits[i];
    at[i] = take_digit(rest, digit.extent);
    out += at[i] * digit.out;
    in += at[i] * digit.in;
  }
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    move_unit<adds>(plan, out, in, std::min(plan.rows, plan.across.extent - at[plan.digit_count - 2] * plan.rows),
                    std::min(plan.columns, plan.along.extent - at[plan.digit_count - 1] * plan.columns));
    for (std::size_t i = plan.digit_count; i-- > 0;) {
      const Axis& digit = plan.digits[i];
      out += digit.out;
      in += digit.in;
      if (++at[i] < digit.extent) break;
      out -= digit.extent * digit.out;
      in -= digit.extent * digit.in;
      at[i] = 0;
    }
  }
}

int strided_copy_tiles(const KernelCall& call) {
  const Plan plan = make_plan(call);
  return tile_count(plan.units, plan.units_per_tile());
}

void run_strided_copy(const KernelCall& call, int tile) {
  const Plan plan = make_plan(call);
  if (plan.units == 0) return;
  const Range units = tile_range(plan.units, plan.units_per_tile(), tile);
  if (call.attributes<StridedCopyAttributes>().adds) {
    visit_summed(call.dtype(0), [&]<class T>(T) { move_units<true>(plan, call.data<T>(0), call.data<T>(1), units); });
  } else {
    visit_size(call.dtype(0), [&]<class T>(T) { move_units<false>(plan, call.data<T>(0), call.data<T>(1), units); });
  }
}

// The number of elements that move counts.
std::int64_t strided_copy_cost(const KernelCall& call) {
  return 2 * call.numel(call.attributes<StridedCopyAttributes>().into ? 1 : 0);
}

// --- concat: out seen as (outer, row), the inputs as (outer, parts of a row). A tile has several rows, or a part of
// one.

struct ConcatTiles {
  std::int64_t outer, row, of_tile, rows, columns;

  explicit ConcatTiles(const KernelCall& call)
      : outer(call.attributes<ConcatAttributes>().outer),
        row(outer == 0 ? 0 : call.numel(0) / outer),
        of_tile(loop_tile_elements(call.numel(0))),
        rows(items_per_tile(row, of_tile)),
        columns(std::max<std::int64_t>(1, std::min(row, of_tile))) {}
  std::int64_t parts_of_row() const { return tile_count(row, columns); }
  int count() const { return tile_count(outer, rows) * static_cast<int>(parts_of_row()); }
};

template <class T>
void concat_tile(const KernelCall& call, const ConcatTiles& tiles, Range rows, Range columns) {
  T* const out = call.data<T>(0) + rows.begin * tiles.row;
  std::int64_t begin = 0;  // of the input's part
  for (int i = 1; i < call.view_count && begin < columns.end; ++i) {
    const std::int64_t part = call.numel(i) / tiles.outer;
    const std::int64_t first = std::max(begin, columns.begin), last = std::min(begin + part, columns.end);
    if (first < last) {
      copy_rows(out + first, tiles.row, call.data<T>(i) + rows.begin * part + first - begin, part,
                rows.end - rows.begin, last - first);
    }
    begin += part;
  }
}

void run_concat(const KernelCall& call, int tile) {
  if (call.numel(0) == 0) return;
  const ConcatTiles tiles(call);
  const std::int64_t parts = tiles.parts_of_row();
  const Range rows = tile_range(tiles.outer, tiles.rows, static_cast<int>(tile / parts));
  const Range columns = tile_range(tiles.row, tiles.columns, static_cast<int>(tile % parts));
  visit_size(call.dtype(0), [&]<class T>(T) { concat_tile<T>(call, tiles, rows, columns); });
}

}  // namespace

constinit const Kernel cpu_kernels::strided_copy{
    .run = run_strided_copy, .tiles = strided_copy_tiles, .cost = strided_copy_cost};
constinit const Kernel cpu_kernels::concat{.run = run_concat,
                                           .tiles = [](const KernelCall& call) { return ConcatTiles(call).count(); }};

}  // namespace asyncgrad::detail
