// max_pool2d, avg_pool2d and their gradients: a tile is a range of planes (H, W).
#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/cpu/windows/pool_planes.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

struct Planes : PoolBatch {
  using PoolBatch::PoolBatch;

  std::int64_t per_tile() const {
    const double work =
        static_cast<double>(out()) * static_cast<double>(height.kernel) * static_cast<double>(width.kernel);
    return items_per_tile(std::max(in(), static_cast<std::int64_t>(std::min(work, 1e18))));
  }
};

// x and y are the operands with the shapes of the input and of the output.
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
std::int64_t scratch(const KernelCall& call) {
  return pool_scratch_bytes(planes_of<x, y>(call));
}
template <int x, int y>
std::int64_t cost(const KernelCall& call) {
  const Planes planes = planes_of<x, y>(call);
  const double work = static_cast<double>(planes.out()) * static_cast<double>(planes.count) *
                      static_cast<double>(planes.height.kernel) * static_cast<double>(planes.width.kernel);
  return call.elements() + static_cast<std::int64_t>(std::min(work, 1e18));
}

// Calls function(T{}, planes, the planes of a tile).
template <int x, int y, class Function>
void with_planes(const KernelCall& call, int tile, Function function) {
  const Planes planes = planes_of<x, y>(call);
  const Range range = tile_range(planes.count, planes.per_tile(), tile);
  visit_floating(call.dtype(0), [&]<class T>(T zero) { function(zero, planes, range); });
}

void run_max(const KernelCall& call, int tile) {
  with_planes<2, 0>(call, tile, [&]<class T>(T, const Planes& p, Range range) {
    const std::int64_t count = range.end - range.begin;
    const T* const x = call.data<T>(2) + range.begin * p.in();
    T* const y = call.data<T>(0) + range.begin * p.out();
    if (call.numel(1) > 0) {
      std::int64_t* const places = call.data<std::int64_t>(1) + range.begin * p.out();
      pool_planes().of<T>().max_at(p, count, x, y, places, call.scratch);
    } else {
      pool_planes().of<T>().max(p, count, x, y, call.scratch);
    }
  });
}

void run_max_grad(const KernelCall& call, int tile) {
  with_planes<0, 2>(call, tile, [&]<class T>(T, const Planes& p, Range range) {
    for (std::int64_t plane = range.begin; plane < range.end; ++plane) {
      T* const dx = call.data<T>(0) + plane * p.in();
      const std::int64_t* const places = call.data<std::int64_t>(1) + plane * p.out();
      const T* const dy = call.data<T>(2) + plane * p.out();
      std::fill_n(dx, p.in(), T{0});
      for (std::int64_t i = 0; i < p.out(); ++i) dx[places[i]] += dy[i];
    }
  });
}

void run_avg(const KernelCall& call, int tile) {
  with_planes<1, 0>(call, tile, [&]<class T>(T, const Planes& p, Range range) {
    pool_planes().of<T>().mean(p, range.end - range.begin, call.data<T>(1) + range.begin * p.in(),
                               call.data<T>(0) + range.begin * p.out(), call.scratch);
  });
}

void run_avg_grad(const KernelCall& call, int tile) {
  with_planes<0, 1>(call, tile, [&]<class T>(T, const Planes& p, Range range) {
    pool_planes().of<T>().mean_grad(p, range.end - range.begin, call.data<T>(1) + range.begin * p.out(),
                                    call.data<T>(0) + range.begin * p.in(), call.scratch);
  });
}

}  // namespace

constinit const Kernel cpu_kernels::max_pool{
    .run = run_max, .tiles = tiles<2, 0>, .scratch_bytes = scratch<2, 0>, .cost = cost<2, 0>};
constinit const Kernel cpu_kernels::max_pool_grad{.run = run_max_grad, .tiles = tiles<0, 2>, .cost = cost<0, 2>};
constinit const Kernel cpu_kernels::avg_pool{
    .run = run_avg, .tiles = tiles<1, 0>, .scratch_bytes = scratch<1, 0>, .cost = cost<1, 0>};
constinit const Kernel cpu_kernels::avg_pool_grad{
    .run = run_avg_grad, .tiles = tiles<0, 1>, .scratch_bytes = scratch<0, 1>, .cost = cost<0, 1>};

}  // namespace asyncgrad::detail
