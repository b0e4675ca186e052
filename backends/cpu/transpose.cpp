// Any exchange of axes. Elements are moved in square blocks, so that neither tensor is accessed with a stride for long.
#include <array>
#include <cstring>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t block = 16;  // one cache line of float32

// One axis of the output, and how far apart its elements lie in both tensors.
struct Axis {
  std::int64_t extent = 1, out_stride = 0, in_stride = 0;
};

// The output as matrices: rows are along its last axis, columns along `across`, the axis that is innermost in the
// input. The other axes repeat them.
struct Plan {
  std::array<Axis, Shape::max_rank> outer{};
  int outer_count = 0;
  Axis across{}, along{};

  std::int64_t across_blocks() const { return (across.extent + block - 1) / block; }
  std::int64_t units() const {
    std::int64_t count = across_blocks();
    for (int i = 0; i < outer_count; ++i) count *= outer[static_cast<std::size_t>(i)].extent;
    return count;
  }
  std::int64_t units_per_tile() const { return items_per_tile(std::min(block, across.extent) * along.extent); }
};

// The axes of the output, outermost first. Axes that are neighbours in both tensors are joined.
int collapsed_axes(const KernelCall& call, std::array<Axis, Shape::max_rank>& axes) {
  const Shape& out = call.shape(0);
  const Shape& in = call.shape(1);
  std::array<std::int64_t, Shape::max_rank> in_strides{};
  std::int64_t stride = 1;
  for (int i = in.rank() - 1; i >= 0; --i) {
    in_strides[static_cast<std::size_t>(i)] = stride;
    stride *= in[i];
  }
  const auto& permutation = call.attributes<TransposeAttributes>().axes;
  int count = 0;
  std::int64_t out_stride = out.numel();
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == 1) continue;
    out_stride /= out[i];
    const Axis axis{out[i], out_stride,
                    in_strides[static_cast<std::uint8_t>(permutation[static_cast<std::size_t>(i)])]};
    if (count > 0) {
      Axis& last = axes[static_cast<std::size_t>(count - 1)];
      if (last.in_stride == axis.in_stride * axis.extent) {
        last = {last.extent * axis.extent, axis.out_stride, axis.in_stride};
        continue;
      }
    }
    axes[static_cast<std::size_t>(count++)] = axis;
  }
  return count;
}

Plan make_plan(const KernelCall& call) {
  Plan plan;
  if (call.numel(0) == 0) return plan;
  std::array<Axis, Shape::max_rank> axes{};
  int count = collapsed_axes(call, axes);
  plan.along = count > 0 ? axes[static_cast<std::size_t>(--count)] : Axis{1, 1, 1};
  for (int i = 0; i < count; ++i) {
    const Axis& axis = axes[static_cast<std::size_t>(i)];
    if (axis.in_stride == 1) {
      plan.across = axis;
    } else {
      plan.outer[static_cast<std::size_t>(plan.outer_count++)] = axis;
    }
  }
  return plan;
}

// A block goes through a buffer, so that each cache line of both tensors is touched once. With a stride that is a power
// of two the lines of a block fall into so few sets of the cache that they would not stay.
template <class T>
inline void move_block(T* out, const T* in, const Axis& across, const Axis& along, std::int64_t rows,
                       std::int64_t columns) {
  T buffer[block][block];
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t r = 0; r < rows; ++r) buffer[j][r] = in[j * along.in_stride + r];
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < columns; ++j) out[r * across.out_stride + j] = buffer[j][r];
  }
}

// Rows `begin` to `end` of `across`.
template <class T>
void move_rows(T* out, const T* in, const Plan& plan, Range rows) {
  const Axis &across = plan.across, &along = plan.along;
  if (along.in_stride == 1) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      std::memcpy(out + r * across.out_stride, in + r * across.in_stride,
                  static_cast<std::size_t>(along.extent) * sizeof(T));
    }
    return;
  }
  // If the last axis is not innermost in the input, `across` is, and has the stride 1 there.
  out += rows.begin * across.out_stride;
  in += rows.begin;
  const std::int64_t count = rows.end - rows.begin;
  for (std::int64_t first = 0; first < along.extent; first += block) {
    const std::int64_t columns = std::min(block, along.extent - first);
    if (count == block && columns == block) {
      move_block(out + first, in + first * along.in_stride, across, along, block, block);  // compiled for this size
    } else {
      move_block(out + first, in + first * along.in_stride, across, along, count, columns);
    }
  }
}

template <class T>
void move_unit(const KernelCall& call, const Plan& plan, std::int64_t unit) {
  T* out = call.data<T>(0);
  const T* in = call.data<T>(1);
  const std::int64_t blocks = plan.across_blocks();
  const Range rows = {unit % blocks * block, std::min(plan.across.extent, (unit % blocks + 1) * block)};
  std::int64_t rest = unit / blocks;
  for (int i = plan.outer_count - 1; i >= 0; --i) {
    const Axis& axis = plan.outer[static_cast<std::size_t>(i)];
    out += rest % axis.extent * axis.out_stride;
    in += rest % axis.extent * axis.in_stride;
    rest /= axis.extent;
  }
  move_rows(out, in, plan, rows);
}

int transpose_tiles(const KernelCall& call) {
  const Plan plan = make_plan(call);
  return tile_count(plan.units(), plan.units_per_tile());
}

void run_transpose(const KernelCall& call, int tile) {
  if (call.numel(0) == 0) return;
  const Plan plan = make_plan(call);
  const Range units = tile_range(plan.units(), plan.units_per_tile(), tile);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    // Elements are only moved, so only their size matters.
    if (size_bytes(call.dtype(0)) == 4) {
      move_unit<std::uint32_t>(call, plan, unit);
    } else {
      move_unit<std::uint64_t>(call, plan, unit);
    }
  }
}

}  // namespace

void add_transpose_kernels(Backend& backend) {
  kernel_of(backend, Op::transpose) = {.run = run_transpose, .tiles = transpose_tiles};
}

}  // namespace asyncgrad::detail
