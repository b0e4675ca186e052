// max_pool2d, avg_pool2d and their gradients: a tile is a range of planes (H, W).
#include <algorithm>
#include <array>
#include <limits>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

struct PoolAxis {
  std::int64_t in, out, kernel, stride, padding;

  // The elements of the input under the window of an output.
  Range window(std::int64_t output) const {
    const std::int64_t first = output * stride - padding;
    return {std::max<std::int64_t>(0, first), std::min(in, first + kernel)};
  }
  // The outputs whose whole windows lie inside of the input.
  Range whole_windows() const {
    const std::int64_t begin = std::min(out, padding == 0 ? 0 : (padding - 1) / stride + 1);
    const std::int64_t spare = in + padding - kernel;
    return {begin, spare < 0 ? begin : std::max(begin, std::min(out, spare / stride + 1))};
  }
};

struct Planes {
  std::int64_t count;
  PoolAxis height, width;

  Planes(const PoolAttributes& a, const Shape& x, const Shape& y)
      : count(x[0] * x[1]),
        height{x[2], y[2], a.kernel[0], a.stride[0], a.padding[0]},
        width{x[3], y[3], a.kernel[1], a.stride[1], a.padding[1]} {}

  std::int64_t in() const { return height.in * width.in; }
  std::int64_t out() const { return height.out * width.out; }
  std::int64_t per_tile() const {
    const double work =
        static_cast<double>(out()) * static_cast<double>(height.kernel) * static_cast<double>(width.kernel);
    return items_per_tile(std::max(in(), static_cast<std::int64_t>(std::min(work, 1e18))));
  }
  bool has_kernel_of(std::int64_t size) const { return height.kernel == size && width.kernel == size; }
};

template <int x, int y>
Planes planes_of(const KernelCall& call) {
  return {call.attributes<PoolAttributes>(), call.shape(x), call.shape(y)};
}
template <int x, int y>
int tiles(const KernelCall& call) {
  const Planes planes = planes_of<x, y>(call);
  return tile_count(planes.count, planes.per_tile());
}
template <int x, int y>
std::int64_t cost(const KernelCall& call) {
  const Planes planes = planes_of<x, y>(call);
  const double work = static_cast<double>(planes.out()) * static_cast<double>(planes.count) *
                      static_cast<double>(planes.height.kernel) * static_cast<double>(planes.width.kernel);
  return call.elements() + static_cast<std::int64_t>(std::min(work, 1e18));
}

// The elements [begin, end) of both axes.
struct Window {
  Range rows, columns;
};
template <class T>
struct Largest {
  T value;
  std::int64_t at;

  void meet(T other, std::int64_t place) {
    const bool replaces = (other > value) | (other != other);  // NOLINT(misc-redundant-expression): NaN
    value = replaces ? other : value;
    at = replaces ? place : at;
  }
};

template <class T>
Largest<T> largest_of(const T* plane, std::int64_t width, const Window& window) {
  Largest<T> largest{-std::numeric_limits<T>::infinity(), window.rows.begin * width + window.columns.begin};
  for (std::int64_t i = window.rows.begin; i < window.rows.end; ++i) {
    for (std::int64_t j = window.columns.begin; j < window.columns.end; ++j) {
      largest.meet(plane[i * width + j], i * width + j);
    }
  }
  return largest;
}
template <class T>
Largest<T> largest_of(const T* plane, std::int64_t width, std::int64_t first, std::int64_t size) {
  const Range rows{first / width, first / width + size}, columns{first % width, first % width + size};
  return largest_of(plane, width, {rows, columns});
}
// The same for a window of a size that the compiler knows, without branches that depend on the values: which element is
// the largest is hard to predict. Its place is the number of elements before it.
template <int size, class T>
Largest<T> largest_of(const T* plane, std::int64_t width, std::int64_t first) {
  std::array<T, size * size> values;
  for (int k = 0; k < size * size; ++k) {
    values[static_cast<std::size_t>(k)] = plane[first + k / size * width + k % size];
  }
  T largest = values[0];
  bool has_nan = false;
  for (const T value : values) {
    largest = value > largest ? value : largest;
    has_nan |= value != value;  // NOLINT(misc-redundant-expression)
  }
  if (has_nan) return largest_of(plane, width, first, size);
  int before = 0, is_before = 1;
  for (const T value : values) {
    is_before &= static_cast<int>(value != largest);
    before += is_before;
  }
  return {largest, first + before / size * width + before % size};
}

// Calls whole(output, first element) for each window of size x size elements that lies inside, which the compiler can
// unroll, and any(output, window) for each other one.
template <int size, class Whole, class Any>
void each_window(const Planes& p, Whole whole, Any any) {
  const Range whole_rows = p.height.whole_windows();
  for (std::int64_t i = 0; i < p.height.out; ++i) {
    const Range rows = p.height.window(i);
    const std::int64_t first = i * p.width.out, corner = rows.begin * p.width.in - p.width.padding;
    const bool is_whole = size > 0 && whole_rows.begin <= i && i < whole_rows.end;
    const Range inside = is_whole ? p.width.whole_windows() : Range{0, 0};
    for (std::int64_t j = 0; j < inside.begin; ++j) any(first + j, Window{rows, p.width.window(j)});
    for (std::int64_t j = inside.begin; j < inside.end; ++j) whole(first + j, corner + j * p.width.stride);
    for (std::int64_t j = inside.end; j < p.width.out; ++j) any(first + j, Window{rows, p.width.window(j)});
  }
}

template <int size, class T>
void max_of_plane(const Planes& p, const T* x, T* y, std::int64_t* indices) {
  const auto put = [&](std::int64_t output, const Largest<T>& largest) {
    y[output] = largest.value;
    if (indices != nullptr) indices[output] = largest.at;
  };
  each_window<size>(
      p,
      [&](std::int64_t output, std::int64_t first) {
        put(output, largest_of<std::max(size, 1)>(x, p.width.in, first));
      },
      [&](std::int64_t output, const Window& window) { put(output, largest_of(x, p.width.in, window)); });
}

void run_max(const KernelCall& call, int tile) {
  const Planes p = planes_of<2, 0>(call);
  const Range range = tile_range(p.count, p.per_tile(), tile);
  const bool has_indices = call.numel(1) > 0;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const auto of_plane = p.has_kernel_of(2)   ? max_of_plane<2, T>
                          : p.has_kernel_of(3) ? max_of_plane<3, T>
                                               : max_of_plane<0, T>;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      std::int64_t* const indices = has_indices ? call.data<std::int64_t>(1) + i * p.out() : nullptr;
      of_plane(p, call.data<T>(2) + i * p.in(), call.data<T>(0) + i * p.out(), indices);
    }
  });
}

void run_max_grad(const KernelCall& call, int tile) {
  const Planes p = planes_of<0, 2>(call);
  const Range range = tile_range(p.count, p.per_tile(), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t plane = range.begin; plane < range.end; ++plane) {
      T* const dx = call.data<T>(0) + plane * p.in();
      const std::int64_t* const indices = call.data<std::int64_t>(1) + plane * p.out();
      const T* const dy = call.data<T>(2) + plane * p.out();
      std::fill_n(dx, p.in(), T{0});
      for (std::int64_t i = 0; i < p.out(); ++i) dx[indices[i]] += dy[i];
    }
  });
}

double share_of_one(const Planes& p) {
  return 1 / (static_cast<double>(p.height.kernel) * static_cast<double>(p.width.kernel));
}

template <int size, class T>
void means_of_plane(const Planes& p, const T* x, T* y) {
  const double share = share_of_one(p);
  const auto mean = [&](std::int64_t first, std::int64_t rows, std::int64_t columns) {
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) sum += static_cast<double>(x[first + i * p.width.in + j]);
    }
    return static_cast<T>(sum * share);
  };
  each_window<size>(
      p, [&](std::int64_t output, std::int64_t first) { y[output] = mean(first, size, size); },
      [&](std::int64_t output, const Window& window) {
        const auto [rows, columns] = window;
        y[output] = mean(rows.begin * p.width.in + columns.begin, rows.end - rows.begin, columns.end - columns.begin);
      });
}
template <int size, class T>
void shares_of_plane(const Planes& p, const T* dy, T* dx) {
  const double share = share_of_one(p);
  std::fill_n(dx, p.in(), T{0});
  const auto add = [&](std::int64_t output, std::int64_t first, std::int64_t rows, std::int64_t columns) {
    const T gradient = static_cast<T>(static_cast<double>(dy[output]) * share);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) dx[first + i * p.width.in + j] += gradient;
    }
  };
  each_window<size>(
      p, [&](std::int64_t output, std::int64_t first) { add(output, first, size, size); },
      [&](std::int64_t output, const Window& window) {
        const auto [rows, columns] = window;
        add(output, rows.begin * p.width.in + columns.begin, rows.end - rows.begin, columns.end - columns.begin);
      });
}

void run_avg(const KernelCall& call, int tile) {
  const Planes p = planes_of<1, 0>(call);
  const Range range = tile_range(p.count, p.per_tile(), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const auto of_plane = p.has_kernel_of(2)   ? means_of_plane<2, T>
                          : p.has_kernel_of(3) ? means_of_plane<3, T>
                                               : means_of_plane<0, T>;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      of_plane(p, call.data<T>(1) + i * p.in(), call.data<T>(0) + i * p.out());
    }
  });
}

void run_avg_grad(const KernelCall& call, int tile) {
  const Planes p = planes_of<0, 1>(call);
  const Range range = tile_range(p.count, p.per_tile(), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const auto of_plane = p.has_kernel_of(2)   ? shares_of_plane<2, T>
                          : p.has_kernel_of(3) ? shares_of_plane<3, T>
                                               : shares_of_plane<0, T>;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      of_plane(p, call.data<T>(1) + i * p.out(), call.data<T>(0) + i * p.in());
    }
  });
}

}  // namespace

constinit const Kernel cpu_kernels::max_pool{.run = run_max, .tiles = tiles<2, 0>, .cost = cost<2, 0>};
constinit const Kernel cpu_kernels::max_pool_grad{.run = run_max_grad, .tiles = tiles<0, 2>, .cost = cost<0, 2>};
constinit const Kernel cpu_kernels::avg_pool{.run = run_avg, .tiles = tiles<1, 0>, .cost = cost<1, 0>};
constinit const Kernel cpu_kernels::avg_pool_grad{.run = run_avg_grad, .tiles = tiles<0, 1>, .cost = cost<0, 1>};

}  // namespace asyncgrad::detail
