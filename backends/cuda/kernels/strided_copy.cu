// Copies between a whole tensor and some elements of another, and concat. If the tensors have different innermost axes,
// a block moves a square through its shared memory, so that both sides are accessed along their innermost axes.
#include <cstdlib>
#include <utility>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/axis_places.cuh"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/strided_axes.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr int side = 32;

using Axis = StridedAxis;

// The axes of a copy, some of which may have been taken out.
struct Axes {
  StridedAxes axes;
  std::int64_t elements, out, in;  // out and in: the place of the first element

  explicit Axes(const KernelCall& call) : axes(joined_axes(call)), out(0), in(0) {
    const auto& attributes = call.attributes<StridedCopyAttributes>();
    elements = call.numel(attributes.into ? 1 : 0);
    (attributes.into ? out : in) = attributes.offset;
  }
  Axis take(int index) {
    const Axis taken = axes.take(index);
    elements /= taken.extent;
    return taken;
  }
  // Returns where the elements of the axes that are left lie in out and in, from the first element on.
  AxisPlaces<2> places() const {
    AxisPlaces<2> places;
    for (int i = 0; i < axes.count; ++i) places.add_axis(axes.axes[i].extent, {axes.axes[i].out, axes.axes[i].in});
    return places;
  }
};

template <bool adds, class T>
struct MoveElements {
  T* out;
  const T* in;
  AxisPlaces<2> places;

  struct Loaded {
    std::int64_t out;
    T value;
  };
  __device__ Loaded load(std::int64_t i) const {
    const auto place = places(i);
    return {place.of[0], in[place.of[1]]};
  }
  __device__ void store(std::int64_t, const Loaded& loaded) const { put<adds>(out[loaded.out], loaded.value); }
};

// Squares of `across`, which has the shortest stride in `in`, and `along`, which has it in out.
template <bool adds, class T>
struct MoveSquare {
  T* out;
  const T* in;
  AxisPlaces<2> outer;
  Axis across, along;

  __host__ __device__ static std::int64_t squares(std::int64_t extent) { return (extent + side - 1) / side; }

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    __shared__ T square[side][side + 1];  // columns, too, lie in different banks
    const std::int64_t per_row = squares(along.extent), per_plane = per_row * squares(across.extent);
    const auto place = outer(item / per_plane);
    const std::int64_t first_row = item % per_plane / per_row * side, first_column = item % per_row * side;
    const std::int64_t rows = across.extent - first_row, columns = along.extent - first_column;
    team.each(side * side, [&](std::int64_t i) {
      const std::int64_t column = i / side, row = i % side;
      if (row >= rows || column >= columns) return;
      square[row][column] = in[place.of[1] + (first_column + column) * along.in + (first_row + row) * across.in];
    });
    team.meet();
    team.each(side * side, [&](std::int64_t i) {
      const std::int64_t row = i / side, column = i % side;
      if (row >= rows || column >= columns) return;
      put<adds>(out[place.of[0] + (first_row + row) * across.out + (first_column + column) * along.out],
                square[row][column]);
    });
    team.meet();
  }
};

template <bool adds, class T>
void move(const KernelCall& call) {
  Axes rest(call);
  const StridedAxes& axes = rest.axes;
  T* const out = call.data<T>(0) + rest.out;
  const T* const in = call.data<T>(1) + rest.in;
  const int along = axes.count > 1 ? axes.shortest(&Axis::out) : 0,
            across = axes.count > 1 ? axes.shortest(&Axis::in) : 0;
  if (along == across || axes.axes[across].in == 0) {
    return for_several(call, rest.elements, MoveElements<adds, T>{out, in, rest.places()});
  }
  using Squares = MoveSquare<adds, T>;
  const Axis first = rest.take(std::max(along, across)), second = rest.take(std::min(along, across));
  const Squares squares{out, in, rest.places(), along < across ? first : second, along < across ? second : first};
  const std::int64_t plane = Squares::squares(squares.across.extent) * Squares::squares(squares.along.extent);
  for_teams<block_threads>(call, rest.elements * plane, squares);
}

void run_strided_copy(const KernelCall& call, int) {
  const auto& attributes = call.attributes<StridedCopyAttributes>();
  if (call.numel(attributes.into ? 1 : 0) == 0) return;
  if (attributes.adds) {
    visit_summed(call.dtype(0), [&]<class T>(T) { move<true, T>(call); });
  } else {
    visit_size(call.dtype(0), [&]<class T>(T) { move<false, T>(call); });
  }
}

// --- concat: out seen as (outer, row), the inputs as (outer, parts of a row)

constexpr int parts_at_once = 8;  // of a launch

template <class T>
struct MoveParts {
  T* out;  // the first part's element of the first row
  std::int64_t row;
  Divisor width;  // of all parts
  const T* in[parts_at_once];
  std::int64_t begins[parts_at_once + 1];  // in a row of these parts, and where the last one ends

  struct Loaded {
    std::int64_t out;
    T value;
  };
  __device__ Loaded load(std::int64_t i) const {
    const Divided at = width(i);
    int part = 0;
    while (at.remainder >= begins[part + 1]) ++part;
    const std::int64_t of_part = begins[part + 1] - begins[part];
    return {at.quotient * row + at.remainder, in[part][at.quotient * of_part + at.remainder - begins[part]]};
  }
  __device__ void store(std::int64_t, const Loaded& loaded) const { out[loaded.out] = loaded.value; }
};

// The parts from input `first` on, as many as a launch takes; they come behind `begin` elements of each row.
template <class T>
std::int64_t move_parts(const KernelCall& call, std::int64_t outer, int first, std::int64_t begin) {
  const std::int64_t row = call.numel(0) / outer;
  MoveParts<T> move{.out = call.data<T>(0) + begin, .row = row, .width = Divisor(1), .in = {}, .begins = {}};
  std::int64_t width = 0;
  for (int i = 0; i < parts_at_once; ++i) {
    if (first + i < call.view_count) {
      move.in[i] = call.data<T>(first + i);
      width += call.numel(first + i) / outer;
    }
    move.begins[i + 1] = width;
  }
  if (width > 0) {
    move.width = Divisor(width);
    for_several(call, outer * width, move);
  }
  return width;
}

void run_concat(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  const std::int64_t outer = call.attributes<ConcatAttributes>().outer;
  visit_size(call.dtype(0), [&]<class T>(T) {
    std::int64_t begin = 0;
    for (int i = 1; i < call.view_count; i += parts_at_once) begin += move_parts<T>(call, outer, i, begin);
  });
}

}  // namespace

constinit const Kernel kernels::strided_copy{.run = run_strided_copy};
constinit const Kernel kernels::concat{.run = run_concat};

}  // namespace asyncgrad::detail::cuda
