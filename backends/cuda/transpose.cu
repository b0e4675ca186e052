// Any exchange of axes. Where the last axis of the output is not the last one of the input, a block moves a square by
// way of its shared memory, so that both sides are walked along their last axes.
#include <array>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/for_each.cuh"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr int side = 32;

// One axis of the output, and how far apart its elements lie in both tensors.
struct Axis {
  std::int64_t extent = 1, out_stride = 0, in_stride = 0;
};

// The output's axes: `along`, its last one, `across`, the last one of the input, and the others. Where the two are the
// same, `across` is any other.
struct Axes {
  Axis outer[Shape::max_rank];
  int outer_count = 0;
  Axis across{}, along{};
  std::int64_t count = 1;  // of the others' elements

  // Where an element of the others begins.
  struct Place {
    std::int64_t out, in;
  };
  __host__ __device__ Place place(std::int64_t element) const {
    Place place{};
    for (int i = outer_count - 1; i >= 0; --i) {
      const Divided at = divided(element, outer[i].extent);
      place.out += at.remainder * outer[i].out_stride;
      place.in += at.remainder * outer[i].in_stride;
      element = at.quotient;
    }
    return place;
  }
};

Axes axes_of(const KernelCall& call) {
  const Shape &out = call.shape(0), &in = call.shape(1);
  std::array<std::int64_t, Shape::max_rank> in_strides{};
  for (std::int64_t i = in.rank() - 1, stride = 1; i >= 0; stride *= in[static_cast<int>(i--)]) {
    in_strides[static_cast<std::size_t>(i)] = stride;
  }
  Axes axes;
  std::int64_t out_stride = out.numel();
  for (int i = 0; i < out.rank(); ++i) {
    if (out[i] == 1) continue;
    out_stride /= out[i];
    const auto from =
        static_cast<std::size_t>(call.attributes<TransposeAttributes>().axes[static_cast<std::size_t>(i)]);
    const Axis axis{out[i], out_stride, in_strides[from]};
    if (axis.out_stride == 1) {
      axes.along = axis;
    } else if (axis.in_stride == 1) {
      axes.across = axis;
    } else {
      axes.outer[axes.outer_count++] = axis;
      axes.count *= axis.extent;
    }
  }
  return axes;
}

// Rows stay whole: an element a thread.
template <class T>
struct MoveRows {
  T* out;
  const T* in;
  Axes axes;

  __host__ __device__ void operator()(std::int64_t i) const {
    const Divided at = divided(i, axes.along.extent);
    out[i] = in[axes.place(at.quotient).in + at.remainder];
  }
};

template <class T>
struct MoveSquare {
  T* out;
  const T* in;
  Axes axes;

  __host__ __device__ static std::int64_t squares(std::int64_t extent) { return (extent + side - 1) / side; }

  template <class Team>
  __host__ __device__ void operator()(Team team, std::int64_t item) const {
#ifdef __CUDA_ARCH__
    __shared__
#endif
        T square[side][side + 1];  // columns, too, lie in different banks
    const Axis &across = axes.across, &along = axes.along;
    const std::int64_t per_row = squares(along.extent), per_plane = per_row * squares(across.extent);
    const typename Axes::Place place = axes.place(item / per_plane);
    const std::int64_t first_row = item % per_plane / per_row * side, first_column = item % per_row * side;
    const std::int64_t rows = across.extent - first_row, columns = along.extent - first_column;
    team.each(side * side, [&](std::int64_t i) {
      const std::int64_t column = i / side, row = i % side;
      if (row >= rows || column >= columns) return;
      square[row][column] = in[place.in + (first_column + column) * along.in_stride + first_row + row];
    });
    team.meet();
    team.each(side * side, [&](std::int64_t i) {
      const std::int64_t row = i / side, column = i % side;
      if (row >= rows || column >= columns) return;
      out[place.out + (first_row + row) * across.out_stride + first_column + column] = square[row][column];
    });
    team.meet();
  }
};

template <class T>
void move(const KernelCall& call) {
  const Axes axes = axes_of(call);
  T* const out = call.data<T>(0);
  const T* const in = call.data<T>(1);
  if (axes.along.in_stride <= 1) return for_each(call, call.numel(0), MoveRows<T>{out, in, axes});
  using Squares = MoveSquare<T>;
  const std::int64_t plane = Squares::squares(axes.across.extent) * Squares::squares(axes.along.extent);
  for_teams<block_threads>(call, axes.count * plane, Squares{out, in, axes});
}

void run_transpose(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  // Elements are only moved, so that their size alone matters.
  if (size_bytes(call.dtype(0)) == 4) {
    move<std::uint32_t>(call);
  } else {
    move<std::uint64_t>(call);
  }
}

}  // namespace

void add_transpose_kernels(Backend& backend) { kernel_of(backend, Op::transpose) = {.run = run_transpose}; }

}  // namespace asyncgrad::detail::cuda
