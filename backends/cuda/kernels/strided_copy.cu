// Copies between a whole tensor and some elements of another, and concat. If the tensors have different innermost axes,
// a block moves a square through its shared memory, so that both sides are accessed along their innermost axes.
#include <cstdlib>
#include <utility>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/axis_divisors.cuh"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/strided_axes.h"

namespace asyncgrad::detail::cuda {

namespace {

constexpr int side = 32;

using Axis = StridedAxis;

// Where the elements of some axes lie.
struct Places {
  StridedAxes axes;
  std::int64_t elements = 1, out = 0, in = 0;  // out and in: the place of the first element
  AxisDivisors divisors = {};

  struct Place {
    std::int64_t out, in;
  };
  __device__ Place place(std::int64_t element) const {
    Place place{out, in};
    for (int i = axes.count - 1; i >= 0; --i) {
      const Axis& axis = axes.axes[i];
      const Divided at = divisors(i, element);
      place.out += at.remainder * axis.out;
      place.in += at.remainder * axis.in;
      element = at.quotient;
    }
    return place;
  }

  // For a kernel, when no axis will be taken any more.
  Places with_divisors() const {
    Places places = *this;
    for (int i = 0; i < axes.count; ++i) places.divisors.set(i, axes.axes[i].extent);
    return places;
  }
  Axis take(int index) {
    const Axis taken = axes.take(index);
    elements /= taken.extent;
    return taken;
  }
};

Places places_of(const KernelCall& call) {
  const auto& attributes = call.attributes<StridedCopyAttributes>();
  Places places{.axes = joined_axes(call), .elements = call.numel(attributes.into ? 1 : 0)};
  (attributes.into ? places.out : places.in) = attributes.offset;
  return places;
}

template <bool adds, class T>
struct MoveElements {
  T* out;
  const T* in;
  Places places;

  struct Loaded {
    std::int64_t out;
    T value;
  };
  __device__ Loaded load(std::int64_t i) const {
    const typename Places::Place place = places.place(i);
    return {place.out, in[place.in]};
  }
  __device__ void store(std::int64_t, const Loaded& loaded) const { put<adds>(out[loaded.out], loaded.value); }
};

// Squares of `across`, which has the shortest stride in `in`, and `along`, which has it in out.
template <bool adds, class T>
struct MoveSquare {
  T* out;
  const T* in;
  Places outer;
  Axis across, along;

  __host__ __device__ static std::int64_t squares(std::int64_t extent) { return (extent + side - 1) / side; }

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    __shared__ T square[side][side + 1];  // columns, too, lie in different banks
    const std::int64_t per_row = squares(along.extent), per_plane = per_row * squares(across.extent);
    const typename Places::Place place = outer.place(item / per_plane);
    const std::int64_t first_row = item % per_plane / per_row * side, first_column = item % per_row * side;
    const std::int64_t rows = across.extent - first_row, columns = along.extent - first_column;
    team.each(side * side, [&](std::int64_t i) {
      const std::int64_t column = i / side, row = i % side;
      if (row >= rows || column >= columns) return;
      square[row][column] = in[place.in + (first_column + column) * along.in + (first_row + row) * across.in];
    });
    team.meet();
    team.each(side * side, [&](std::int64_t i) {
      const std::int64_t row = i / side, column = i % side;
      if (row >= rows || column >= columns) return;
      put<adds>(out[place.out + (first_row + row) * across.out + (first_column + column) * along.out],
                square[row][column]);
    });
    team.meet();
  }
};

template <bool adds, class T>
void move(const KernelCall& call) {
  Places places = places_of(call);
  const StridedAxes& axes = places.axes;
  T* const out = call.data<T>(0);
  const T* const in = call.data<T>(1);
  const int along = axes.count > 1 ? axes.shortest(&Axis::out) : 0,
            across = axes.count > 1 ? axes.shortest(&Axis::in) : 0;
  if (along == across || axes.axes[across].in == 0) {
    return for_several(call, places.elements, MoveElements<adds, T>{out, in, places.with_divisors()});
  }
  using Squares = MoveSquare<adds, T>;
  const Axis first = places.take(std::max(along, across)), second = places.take(std::min(along, across));
  const Squares squares{out, in, places.with_divisors(), along < across ? first : second,
                        along < across ? second : first};
  const std::int64_t plane = Squares::squares(squares.across.extent) * Squares::squares(squares.along.extent);
  for_teams<block_threads>(call, places.elements * plane, squares);
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

template <class T>
struct MovePart {
  T* out;  // in the first row
  const T* in;
  std::int64_t row;
  Divisor part;

  __device__ T load(std::int64_t i) const { return in[i]; }
  __device__ void store(std::int64_t i, T value) const {
    const Divided at = part(i);
    out[at.quotient * row + at.remainder] = value;
  }
};

void run_concat(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  const std::int64_t outer = call.attributes<ConcatAttributes>().outer, row = call.numel(0) / outer;
  visit_size(call.dtype(0), [&]<class T>(T) {
    std::int64_t begin = 0;
    for (int i = 1; i < call.view_count; ++i) {
      const std::int64_t part = call.numel(i) / outer;
      if (part == 0) continue;
      for_several(call, call.numel(i), MovePart<T>{call.data<T>(0) + begin, call.data<T>(i), row, Divisor(part)});
      begin += part;
    }
  });
}

}  // namespace

constinit const Kernel kernels::strided_copy{.run = run_strided_copy};
constinit const Kernel kernels::concat{.run = run_concat};

}  // namespace asyncgrad::detail::cuda
