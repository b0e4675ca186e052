#include "asyncgrad/backends/cuda/kernels/conv_direct.h"

#include <algorithm>
#include <cmath>

#include "asyncgrad/backends/cuda/kernels/add_chunks.cuh"
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

template <class T, int at_once>
struct InputGradients {
  T* dx;
  const T *dy, *w, *bias;  // the bias may be null
  ConvExtents e;

  __device__ void operator()(std::int64_t number) const {
    const Item<at_once> item(number, e.in_plane(), e.groups, e.channels);
    const Divided pixel = divided(item.pixel, e.width.in);
    const T* const planes = dy + item.group_of_image * e.outputs * e.out_plane();
    const T* const weights = w + (item.group * e.outputs * e.channels + item.first) * e.taps();
    T sums[at_once] = {};
    each_reader(e.height, pixel.quotient, [&](std::int64_t i, std::int64_t row) {
      each_reader(e.width, pixel.remainder, [&](std::int64_t j, std::int64_t column) {
        const T* gradient = planes + row * e.width.out + column;
        const T* weight = weights + i * e.width.kernel + j;
        for (std::int64_t o = 0; o < e.outputs; ++o, gradient += e.out_plane(), weight += e.channels * e.taps()) {
          const T value = *gradient;
          for (int k = 0; k < at_once; ++k)
            sums[k] = std::fma(value, weight[(k < item.count ? k : 0) * e.taps()], sums[k]);
        }
      });
    });
    for (int k = 0; k < at_once; ++k) {
      if (k >= item.count) break;
      const std::int64_t channel = item.first + k;
      dx[(item.group_of_image * e.channels + channel) * e.in_plane() + item.pixel] =
          bias == nullptr ? sums[k] : sums[k] + bias[item.group * e.channels + channel];
    }
  }
};

// --- The gradient of a weight: a team adds up what pixels contribute to some columns of one row of the kernel, for one
// --- channel and one output. Where there are few such teams, pixels are cut into chunks with teams of their own, whose
// --- sums are added up afterwards.

constexpr int weight_columns = 4;  // of a team

struct WeightTeams {
  std::int64_t elements, teams, pixels, chunks;  // elements of the result; pixels of the largest part

  WeightTeams(const KernelCall& call, const ConvExtents& e)
      : elements(call.numel(0)),
        teams(elements / e.width.kernel * columns_of(e)),
        pixels(pixels_of(call, e).of_largest_part()) {
    constexpr std::int64_t wanted_teams = 1024, fewest_pixels = 2048;  // of a chunk
    chunks = std::clamp<std::int64_t>(pixels / fewest_pixels, 1, (wanted_teams + teams - 1) / teams);
  }
  static std::int64_t columns_of(const ConvExtents& e) {
    return (e.width.kernel + weight_columns - 1) / weight_columns;
  }
  static ConvPixels pixels_of(const KernelCall& call, const ConvExtents& e) {
    return {e.batch, call.shape(0)[0] / e.groups, e.height.out, e.width.out};
  }
  std::int64_t chunk() const { return (pixels + chunks - 1) / chunks; }
};

template <class T>
struct WeightGradients {
  T* sums;  // (chunks, the result's shape)
  const T *x, *dy;
  ConvExtents e;
  ConvPixels pixels;
  std::int64_t elements, pixels_of_part, chunk, column_blocks;

  struct Sums {
    T of[weight_columns];
  };

  // Items are in the order of (chunk, part, group, channel, row of the kernel, block of columns, output).
  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    std::int64_t rest = item;
    const auto next = [&](std::int64_t extent) {
      const Divided at = divided(rest, extent);
      rest = at.quotient;
      return at.remainder;
    };
    const std::int64_t output = next(e.outputs), first = next(column_blocks) * weight_columns,
                       i = next(e.height.kernel);
    const std::int64_t channel = next(e.channels), group = next(e.groups), part = next(pixels.parts);
    const std::int64_t begin = rest * chunk, left = pixels_of_part - begin;
    const T* const planes = x + (group * e.channels + channel) * e.in_plane();
    const T* const gradients = dy + (group * e.outputs + output) * e.out_plane();
    const Sums sum = team.reduce(
        left < chunk ? left : chunk, Sums{},
        [&](std::int64_t pixel) {
          Sums products{};
          const ConvPixels::Place at = pixels.place(part, begin + pixel);
          const std::int64_t row = first_read(e.height, at.row) + i * e.height.dilation;
          if (!pixels.is_there(part, at) || !is_inside(e.height, row)) return products;
          const T gradient =
              gradients[at.image * e.groups * e.outputs * e.out_plane() + at.row * e.width.out + at.column];
          const T* const line = planes + at.image * e.groups * e.channels * e.in_plane() + row * e.width.in;
          for (int k = 0; k < weight_columns; ++k) {
            const std::int64_t column = first_read(e.width, at.column) + (first + k) * e.width.dilation;
            if (first + k < e.width.kernel && is_inside(e.width, column)) products.of[k] = gradient * line[column];
          }
          return products;
        },
        [](Sums a, const Sums& b) {
          for (int k = 0; k < weight_columns; ++k) a.of[k] += b.of[k];
          return a;
        });
    const std::int64_t of_group = (part * e.groups + group) * e.channels + channel;
    T* const to =
        sums + rest * elements + ((of_group * e.height.kernel + i) * e.width.kernel + first) * e.outputs + output;
    team.each(1, [&](std::int64_t) {
      for (int k = 0; k < weight_columns; ++k) {
        if (first + k < e.width.kernel) to[k * e.outputs] = sum.of[k];
      }
    });
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
void conv_input_direct(const KernelCall& call, const ConvExtents& extents) {
  launch_direct<InputGradients>(call, extents, extents.in_plane(), extents.channels);
}

void conv_weight_direct(const KernelCall& call, const ConvExtents& e) {
  const WeightTeams teams(call, e);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const dw = call.data<T>(0);
    T* const sums = teams.chunks == 1 ? dw : reinterpret_cast<T*>(call.scratch);
    for_teams_of(teams.chunk(), call, teams.chunks * teams.teams,
                 WeightGradients<T>{sums, call.data<T>(1), call.data<T>(2), e, WeightTeams::pixels_of(call, e),
                                    teams.elements, teams.pixels, teams.chunk(), WeightTeams::columns_of(e)});
    if (teams.chunks > 1) for_each(call, teams.elements, AddChunks<T>{dw, sums, teams.elements, teams.chunks});
  });
}

std::int64_t conv_weight_direct_scratch_bytes(const KernelCall& call, const ConvExtents& e) {
  const WeightTeams teams(call, e);
  return teams.chunks == 1 ? 0 : teams.chunks * teams.elements * call.element_bytes(0);
}

}  // namespace asyncgrad::detail::cuda
