// Pooling and its gradients. A gradient's element is the sum of what the windows that have it give it, in their order.
#include <algorithm>
#include <limits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"
#include "asyncgrad/backends/pool_plane.h"

namespace asyncgrad::detail::cuda {

namespace {

// An element of planes.
struct Place {
  std::int64_t plane, row, column;

  __device__ Place(std::int64_t element, std::int64_t rows, std::int64_t columns) {
    const Divided in_plane = divided(element, rows * columns), in_row = divided(in_plane.remainder, columns);
    plane = in_plane.quotient, row = in_row.quotient, column = in_row.remainder;
  }
};

// The outputs whose windows have this element of the input.
__device__ Range windows_of(const PoolAxis& axis, std::int64_t input) {
  const std::int64_t last = input + axis.padding, first = last - axis.kernel;
  const std::int64_t end = divided(last, axis.stride).quotient + 1;
  return {first < 0 ? 0 : divided(first, axis.stride).quotient + 1, end < axis.out ? end : axis.out};
}

// What a window is reduced to:
//   Partial                            what elements are combined in
//   identity() -> Partial
//   value(x, place) -> Partial         of an element of a plane
//   combine(Partial, Partial) -> Partial
//   finish(output, Partial)            writes the result

// The largest element: the first, or the last NaN.
template <class T>
struct MaxPool {
  T* y;
  std::int64_t* places;  // in the plane; null: nobody wants them

  struct Partial {
    T value;
    std::int64_t place;
  };
  __device__ Partial identity() const { return {lowest<T>(), std::numeric_limits<std::int64_t>::max()}; }
  __device__ Partial value(T x, std::int64_t place) const { return {x, place}; }
  __device__ Partial combine(const Partial& a, const Partial& b) const {
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    const bool takes_b = b.value > a.value || (b.value == a.value && b.place < a.place) ||
                         (b_is_nan && (!a_is_nan || b.place > a.place));
    return takes_b ? b : a;
  }
  __device__ void finish(std::int64_t output, const Partial& largest) const {
    y[output] = largest.value;
    if (places != nullptr) places[output] = largest.place;
  }
};

// The mean, in which padding counts as 0.
template <class T>
struct AvgPool : Summing<T> {
  T* y;
  double share;

  __device__ double value(T x, std::int64_t) const { return static_cast<double>(x); }
  __device__ void finish(std::int64_t output, double sum) const { y[output] = static_cast<T>(sum * share); }
};

template <class T, class Pool>
struct ReduceWindow : Pool {
  const T* x;
  PoolPlane p;

  // By one thread.
  __device__ void operator()(std::int64_t output) const {
    const Place at(output, p.height.out, p.width.out);
    const Range rows = p.height.window(at.row), columns = p.width.window(at.column);
    const T* const plane = x + at.plane * p.in();
    typename Pool::Partial partial = this->identity();
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t column = columns.begin; column < columns.end; ++column) {
        const std::int64_t place = row * p.width.in + column;
        partial = this->combine(partial, this->value(plane[place], place));
      }
    }
    this->finish(output, partial);
  }

  template <class Team>
  __device__ void operator()(Team team, std::int64_t output) const {
    const Place at(output, p.height.out, p.width.out);
    const Range rows = p.height.window(at.row), columns = p.width.window(at.column);
    const std::int64_t width = columns.end - columns.begin;
    const T* const plane = x + at.plane * p.in();
    const typename Pool::Partial partial = team.reduce(
        (rows.end - rows.begin) * width, this->identity(),
        [&](std::int64_t i) {
          const Divided in_row = divided(i, width);
          const std::int64_t place = (rows.begin + in_row.quotient) * p.width.in + columns.begin + in_row.remainder;
          return this->value(plane[place], place);
        },
        [&](const auto& a, const auto& b) { return this->combine(a, b); });
    team.each(1, [&](std::int64_t) { this->finish(output, partial); });
  }
};

template <class T, class Pool>
void reduce_windows(const KernelCall& call, const Pool& pool, const T* x, const PoolPlane& plane) {
  constexpr std::int64_t few_elements = 16;  // of a window: a thread reads them as fast as a team
  const ReduceWindow<T, Pool> body{pool, x, plane};
  const std::int64_t elements =
      std::min(plane.height.kernel, plane.height.in) * std::min(plane.width.kernel, plane.width.in);
  if (elements <= few_elements) return for_each(call, call.numel(0), body);
  for_teams_of(elements, call, call.numel(0), body);
}

// --- Gradients

template <class T>
struct MaxPoolGrad {
  T* dx;
  const std::int64_t* places;
  const T* dy;
  PoolPlane p;

  __device__ void operator()(std::int64_t i) const {
    const Place at(i, p.height.in, p.width.in);
    const Range rows = windows_of(p.height, at.row), columns = windows_of(p.width, at.column);
    const std::int64_t place = at.row * p.width.in + at.column, first = at.plane * p.out();
    T sum = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t column = columns.begin; column < columns.end; ++column) {
        const std::int64_t output = first + row * p.width.out + column;
        if (places[output] == place) sum += dy[output];
      }
    }
    dx[i] = sum;
  }
};

template <class T>
struct AvgPoolGrad {
  T* dx;
  const T* dy;
  PoolPlane p;

  __device__ void operator()(std::int64_t i) const {
    const Place at(i, p.height.in, p.width.in);
    const Range rows = windows_of(p.height, at.row), columns = windows_of(p.width, at.column);
    const T* const plane = dy + at.plane * p.out();
    T sum = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t column = columns.begin; column < columns.end; ++column) {
        sum += static_cast<T>(static_cast<double>(plane[row * p.width.out + column]) * p.share());
      }
    }
    dx[i] = sum;
  }
};

// x and y: the operands with the shapes of the input and of the output.
PoolPlane plane_of(const KernelCall& call, int x, int y) {
  return PoolBatch(call.attributes<PoolAttributes>(), call.shape(x), call.shape(y));
}

void run_max_pool(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    std::int64_t* const places = call.numel(1) > 0 ? call.data<std::int64_t>(1) : nullptr;
    reduce_windows(call, MaxPool<T>{call.data<T>(0), places}, call.data<T>(2), plane_of(call, 2, 0));
  });
}

void run_max_pool_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0),
             MaxPoolGrad<T>{call.data<T>(0), call.data<std::int64_t>(1), call.data<T>(2), plane_of(call, 0, 2)});
  });
}

void run_avg_pool(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const PoolPlane plane = plane_of(call, 1, 0);
    reduce_windows(call, AvgPool<T>{{}, call.data<T>(0), plane.share()}, call.data<T>(1), plane);
  });
}

void run_avg_pool_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_each(call, call.numel(0), AvgPoolGrad<T>{call.data<T>(0), call.data<T>(1), plane_of(call, 0, 1)});
  });
}

}  // namespace

constinit const Kernel kernels::max_pool{.run = run_max_pool};
constinit const Kernel kernels::max_pool_grad{.run = run_max_pool_grad};
constinit const Kernel kernels::avg_pool{.run = run_avg_pool};
constinit const Kernel kernels::avg_pool_grad{.run = run_avg_pool_grad};

}  // namespace asyncgrad::detail::cuda
