// batch_norm and its gradient. A channel's elements, seen as a column, are summed in parts, by as many blocks as keep a
// GPU busy; a warp adds up the parts; then each element is computed by itself.
#include <algorithm>
#include <cmath>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/column_sums.cuh"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

// --- The sums of channels

struct Sums {
  double first, second;
  __device__ Sums operator+(const Sums& other) const { return {first + other.first, second + other.second}; }
};

// The elements of a channel, counted by samples and then within the plane.
struct Columns {
  std::int64_t rows, channels, inner;
  Divisor plane;

  explicit Columns(const BatchNormAttributes& a)
      : rows(a.outer * a.inner), channels(a.channels), inner(a.inner), plane(std::max<std::int64_t>(1, a.inner)) {}

  __device__ std::int64_t element(std::int64_t row, std::int64_t channel) const {
    const Divided at = plane(row);
    return (at.quotient * channels + channel) * inner + at.remainder;
  }
  int width() const { return inner == 1 ? block_columns(channels) : 1; }
  // A thread has some elements, and there are some 2048 blocks, or more if there are so many channels.
  std::int64_t part_rows() const {
    const std::int64_t groups = (channels + width() - 1) / width();
    const std::int64_t most = std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, groups));
    return std::max<std::int64_t>((rows + most - 1) / most, 16 * block_threads / width());
  }
  std::int64_t parts() const { return parts_of(rows, part_rows()); }
  // At most 1 MiB, or 512 bytes for each channel.
  std::int64_t scratch_bytes() const { return parts() * channels * static_cast<std::int64_t>(sizeof(Sums)); }
};

// Terms has value(element, channel) -> Sums.
template <class Terms>
struct PartSums {
  using Partial = Sums;
  Columns columns;
  Terms terms;
  Sums* sums;  // (parts, channels)

  __device__ Sums value(std::int64_t row, std::int64_t channel) const {
    return terms.value(columns.element(row, channel), channel);
  }
  __device__ void finish(std::int64_t part, std::int64_t channel, const Sums& partial) const {
    sums[part * columns.channels + channel] = partial;
  }
};

// Results has finish(channel, Sums).
template <class Results>
struct FinishSums {
  const Sums* sums;
  std::int64_t channels, parts;
  Results results;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t channel) const {
    const Sums all = team.reduce(
        parts, Sums{}, [&](std::int64_t part) { return sums[part * channels + channel]; },
        [](const Sums& a, const Sums& b) { return a + b; });
    team.each(1, [&](std::int64_t) { results.finish(channel, all); });
  }
};

template <class Terms, class Results>
void sum_channels(const KernelCall& call, const Columns& columns, const Terms& terms, const Results& results) {
  auto* const sums = reinterpret_cast<Sums*>(call.scratch);
  sum_columns(call, columns.rows, columns.channels, columns.part_rows(), columns.width(),
              PartSums<Terms>{columns, terms, sums});
  for_teams<warp_threads>(call, columns.channels,
                          FinishSums<Results>{sums, columns.channels, columns.parts(), results});
}

// --- Functions of elements with numbers of their channel. A function has
// ---   numbers(channel) -> Numbers
// ---   apply(Numbers, in…) -> T

template <class T, class Function>
struct ChannelMap {
  Function function;
  std::int64_t inner, channels;
  Divisor plane, channel;

  struct State {
    std::int64_t offset, channel;
    typename Function::Numbers numbers;
  };
  __device__ State begin(std::int64_t first) const {
    const Divided at = plane(first);
    const std::int64_t of_first = channel(at.quotient).remainder;
    return {at.remainder, of_first, function.numbers(of_first)};
  }
  template <class... In>
  __device__ T value(State& state, In... in) const {
    if (state.offset == inner) {
      state.channel = state.channel + 1 == channels ? 0 : state.channel + 1;
      state.offset = 0;
      state.numbers = function.numbers(state.channel);
    }
    ++state.offset;
    return function.apply(state.numbers, in...);
  }
};

template <class T, class Function, class... In>
void map_channels(const KernelCall& call, const Columns& columns, const Function& function, const In*... in) {
  if (call.numel(0) == 0) return;
  map_packs(
      call, call.numel(0),
      ChannelMap<T, Function>{function, columns.inner, columns.channels, columns.plane, Divisor(columns.channels)},
      call.data<T>(0), in...);
}

// Means, variances and inverses of the deviations.
template <class T>
struct ChannelStatistics {
  T *mean, *variance, *inverse;

  ChannelStatistics(T* data, std::int64_t channels)
      : mean(data), variance(data + channels), inverse(data + 2 * channels) {}
};

// --- batch_norm

// The sums of d and d², where d is the distance from the channel's first element. It is one of those whose variance is
// sought, so that the difference of the two sums loses few of float64's digits.
template <class T>
struct Distances {
  const T* x;
  std::int64_t inner;

  __device__ double origin(std::int64_t channel) const { return static_cast<double>(x[channel * inner]); }
  __device__ Sums value(std::int64_t element, std::int64_t channel) const {
    const double distance = static_cast<double>(x[element]) - origin(channel);
    return {distance, distance * distance};
  }
};

template <class T>
struct SetStatistics {
  Distances<T> distances;
  ChannelStatistics<T> statistics;
  std::int64_t count;
  double epsilon;

  __device__ void finish(std::int64_t channel, const Sums& sums) const {
    const auto n = static_cast<double>(count);
    const double distance = sums.first / n, difference = sums.second / n - distance * distance;
    const double variance = difference < 0 ? 0 : difference;  // NaN stays
    statistics.mean[channel] = static_cast<T>((count == 0 ? 0 : distances.origin(channel)) + distance);
    statistics.variance[channel] = static_cast<T>(variance);
    statistics.inverse[channel] = static_cast<T>(1 / std::sqrt(variance + epsilon));
  }
};

template <class T>
__device__ T scale_of(const ChannelStatistics<T>& statistics, const T* weight, std::int64_t channel) {
  return weight == nullptr ? statistics.inverse[channel] : statistics.inverse[channel] * weight[channel];
}

template <class T>
struct Normalise {
  ChannelStatistics<T> statistics;
  const T *weight, *bias;  // or null

  struct Numbers {
    T mean, scale, bias;
  };
  __device__ Numbers numbers(std::int64_t channel) const {
    return {statistics.mean[channel], scale_of(statistics, weight, channel), bias == nullptr ? T(0) : bias[channel]};
  }
  __device__ T apply(const Numbers& n, T x) const { return (x - n.mean) * n.scale + n.bias; }
};

void run_batch_norm(const KernelCall& call, int) {
  const auto& a = call.attributes<BatchNormAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Columns columns(a);
    const ChannelStatistics<T> statistics(call.data<T>(1), a.channels);
    const T* const x = call.data<T>(2);
    if (!a.is_given) {
      const Distances<T> distances{x, a.inner};
      sum_channels(call, columns, distances, SetStatistics<T>{distances, statistics, columns.rows, a.epsilon});
    }
    const T* const weight = a.has_weight ? call.data<T>(3) : nullptr;
    const T* const bias = a.has_bias ? call.data<T>(a.has_weight ? 4 : 3) : nullptr;
    map_channels<T>(call, columns, Normalise<T>{statistics, weight, bias}, x);
  });
}

std::int64_t scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<BatchNormAttributes>();
  return a.is_given ? 0 : Columns(a).scratch_bytes();
}

// --- The gradient: dx = scale (dy - mean(dy) - (x - mean) mean(dy (x - mean)) inverse²), perhaps over dy. The means come
// --- from the statistics, and are left out if those are constants.

// The sums of dy and of dy (x - mean).
template <class T>
struct GradientTerms {
  const T *x, *dy, *mean;

  __device__ Sums value(std::int64_t element, std::int64_t channel) const {
    const T gradient = dy[element];
    return {static_cast<double>(gradient), static_cast<double>(gradient * (x[element] - mean[channel]))};
  }
};

template <class T>
struct SetGradients {
  const T* inverse;
  T *dweight, *dbias;          // or null
  T *mean_gradients, *alongs;  // mean(dy) and mean(dy (x - mean)) inverse²
  std::int64_t count;

  __device__ void finish(std::int64_t channel, const Sums& sums) const {
    const auto n = static_cast<double>(count);
    const auto of_channel = static_cast<double>(inverse[channel]);
    if (dbias != nullptr) dbias[channel] = static_cast<T>(sums.first);
    if (dweight != nullptr) dweight[channel] = count == 0 ? T(0) : static_cast<T>(sums.second * of_channel);
    mean_gradients[channel] = static_cast<T>(sums.first / n);
    alongs[channel] = static_cast<T>(sums.second / n * of_channel * of_channel);
  }
};

template <class T>
struct InputGradient {
  ChannelStatistics<T> statistics;
  const T* weight;                   // or null
  const T *mean_gradients, *alongs;  // or null for constants

  struct Numbers {
    T mean, scale, mean_gradient, along;
  };
  __device__ Numbers numbers(std::int64_t channel) const {
    const bool is_given = alongs == nullptr;
    return {statistics.mean[channel], scale_of(statistics, weight, channel), is_given ? T(0) : mean_gradients[channel],
            is_given ? T(0) : alongs[channel]};
  }
  __device__ T apply(const Numbers& n, T x, T dy) const {
    return n.scale * ((dy - n.mean_gradient) - (x - n.mean) * n.along);
  }
};

void run_batch_norm_grad(const KernelCall& call, int) {
  const auto& a = call.attributes<BatchNormAttributes>();
  const int bias = a.has_weight ? 2 : 1, in = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Columns columns(a);
    const ChannelStatistics<T> statistics(call.data<T>(in + 1), a.channels);
    const T *const x = call.data<T>(in), *const dy = call.data<T>(in + 2);
    T* const mean_gradients = reinterpret_cast<T*>(call.scratch + columns.scratch_bytes());
    T* const alongs = mean_gradients + a.channels;
    if (!a.is_given || a.has_weight || a.has_bias) {
      sum_channels(call, columns, GradientTerms<T>{x, dy, statistics.mean},
                   SetGradients<T>{statistics.inverse, a.has_weight ? call.data<T>(1) : nullptr,
                                   a.has_bias ? call.data<T>(bias) : nullptr, mean_gradients, alongs, columns.rows});
    }
    const T* const weight = a.has_weight ? call.data<T>(in + 3) : nullptr;
    map_channels<T>(
        call, columns,
        InputGradient<T>{statistics, weight, a.is_given ? nullptr : mean_gradients, a.is_given ? nullptr : alongs}, x,
        dy);
  });
}

std::int64_t grad_scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<BatchNormAttributes>();
  return Columns(a).scratch_bytes() + 2 * a.channels * static_cast<std::int64_t>(size_bytes(call.dtype(0)));
}

}  // namespace

constinit const Kernel kernels::batch_norm{.run = run_batch_norm, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::batch_norm_grad{.run = run_batch_norm_grad, .scratch_bytes = grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
