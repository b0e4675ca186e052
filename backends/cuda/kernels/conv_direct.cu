#include "asyncgrad/backends/cuda/kernels/conv_direct.h"

#include <cmath>

#include "asyncgrad/backends/cuda/kernels/conv_places.cuh"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

// --- A thread computes one pixel of some channels of a group. Threads of a warp read adjacent pixels, and the same
// --- elements of the weight.

// Which pixel and which channels, of `channels` in a group and `at_once` in a thread.
template <int at_once>
struct Item {
  std::int64_t group_of_image, group, first, count, pixel;  // image groups + group, …

  __device__ Item(std::int64_t number, std::int64_t plane, std::int64_t groups, std::int64_t channels) {
    const Divided in_plane = divided(number, plane), block = divided(in_plane.quotient, blocks(channels));
    group_of_image = block.quotient;
    group = divided(group_of_image, groups).remainder;
    first = block.remainder * at_once;
    count = channels - first < at_once ? channels - first : at_once;
    pixel = in_plane.remainder;
  }
  __host__ __device__ static std::int64_t blocks(std::int64_t channels) { return (channels + at_once - 1) / at_once; }
};

template <class T, int at_once>
struct Outputs {
  T* y;
  const T *x, *w, *bias;  // the bias may be null
  ConvExtents e;

  __device__ void operator()(std::int64_t number) const {
    const Item<at_once> item(number, e.out_plane(), e.groups, e.outputs);
    const Divided pixel = divided(item.pixel, e.width.out);
    const std::int64_t depth = e.channels * e.taps();
    const std::int64_t first_row = first_read(e.height, pixel.quotient);
    const std::int64_t first_column = first_read(e.width, pixel.remainder);
    const T* plane = x + item.group_of_image * e.channels * e.in_plane();
    const T* weight = w + (item.group * e.outputs + item.first) * depth;
    T sums[at_once] = {};
    for (std::int64_t c = 0; c < e.channels; ++c, plane += e.in_plane()) {
      for (std::int64_t i = 0; i < e.height.kernel; ++i, weight += e.width.kernel) {
        const std::int64_t row = first_row + i * e.height.dilation;
        if (!is_inside(e.height, row)) continue;
        for (std::int64_t j = 0; j < e.width.kernel; ++j) {
          const std::int64_t column = first_column + j * e.width.dilation;
          if (!is_inside(e.width, column)) continue;
          const T value = plane[row * e.width.in + column];
          for (int k = 0; k < at_once; ++k)
            sums[k] = std::fma(value, weight[(k < item.count ? k : 0) * depth + j], sums[k]);
        }
      }
    }
    for (int k = 0; k < at_once; ++k) {  // whose number the compiler knows, so that sums are in registers
      if (k >= item.count) break;
      const std::int64_t output = item.first + k;
      y[(item.group_of_image * e.outputs + output) * e.out_plane() + item.pixel] =
          bias == nullptr ? sums[k] : sums[k] + bias[item.group * e.outputs + output];
    }
  }
};

// Launches a body for results of planes of so many pixels and groups of so many channels.
template <template <class, int> class Body>
void launch_direct(const KernelCall& call, const ConvExtents& e, std::int64_t plane, std::int64_t channels) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const T* const bias = call.view_count == 4 ? call.data<T>(3) : nullptr;
    const auto launch_body = [&]<int at_once>(std::integral_constant<int, at_once>) {
      for_each(call, e.batch * e.groups * Item<at_once>::blocks(channels) * plane,
               Body<T, at_once>{call.data<T>(0), call.data<T>(1), call.data<T>(2), bias, e});
    };
    if (channels == 1) return launch_body(std::integral_constant<int, 1>());
    launch_body(std::integral_constant<int, 4>());
  });
}

}  // namespace

void conv_direct(const KernelCall& call, const ConvExtents& extents) {
  launch_direct<Outputs>(call, extents, extents.out_plane(), extents.outputs);
}

}  // namespace asyncgrad::detail::cuda
