// group_norm and its gradient: a row, which is a group of a sample, has a team.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/norm_rows.cuh"
#include "asyncgrad/backends/divided.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

// A weight and a bias for each channel, or null.
template <class T>
struct ChannelAffine {
  std::int64_t groups, channels;  // channels of a group
  Divisor plane, sample;
  const T *weights = nullptr, *biases = nullptr;

  explicit ChannelAffine(const GroupNormAttributes& a)
      : groups(a.groups),
        channels(a.channels),
        plane(std::max<std::int64_t>(1, a.inner)),
        sample(std::max<std::int64_t>(1, a.groups)) {}

  __device__ std::int64_t first_channel(std::int64_t row) const { return sample(row).remainder * channels; }
  __device__ std::int64_t channel(std::int64_t row, std::int64_t i) const {
    return first_channel(row) + plane(i).quotient;
  }
  __device__ T weight_of(std::int64_t channel) const { return weights == nullptr ? T(1) : weights[channel]; }
  __device__ T weight(std::int64_t row, std::int64_t i) const {
    return weights == nullptr ? T(1) : weights[channel(row, i)];
  }
  __device__ T bias(std::int64_t row, std::int64_t i) const {
    return biases == nullptr ? T(0) : biases[channel(row, i)];
  }
};

void run_group_norm(const KernelCall& call, int) {
  const auto& a = call.attributes<GroupNormAttributes>();
  visit_floating(call.dtype(0), [&]<class T>(T) {
    ChannelAffine<T> affine(a);
    if (a.has_weight) affine.weights = call.data<T>(3);
    if (a.has_bias) affine.biases = call.data<T>(a.has_weight ? 4 : 3);
    with_row_teams(a.width(), [&]<int lanes, int kept>() {
      for_teams<lanes>(call, a.rows(),
                       NormRow<T, ChannelAffine<T>, kept>{a.width(), a.epsilon, false, call.data<T>(2), call.data<T>(0),
                                                          Statistics<T>{call.data<T>(1), a.rows()}, affine});
    });
  });
}

// --- The gradient, of x perhaps over dy. The sums of a plane are those of weight and bias for a sample; with the
// --- channels' weights they add up to those of the row. A part of the team, `lanes` of it, sums up a plane.

template <class T, int lanes>
struct GroupNormGrad {
  GroupNormAttributes a;
  const T *x, *dy;
  T *dx, *dweight, *dbias;  // the last two may be null
  Statistics<T> statistics;
  ChannelAffine<T> affine;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    static_assert(lanes <= warp_threads && Team::size % lanes == 0);
    const RowStatistics<T> of_row = statistics.of(row);
    const std::int64_t first = row * a.width();
    GradientSums sums{};
    for (std::int64_t c = Team::lane() / lanes; c < a.channels; c += Team::size / lanes) {
      const GradientSums of_plane = plane_sums(first + c * a.inner, of_row.mean);
      if (Team::lane() % lanes != 0) continue;  // each lane has the plane's sums, and one adds them
      const auto weight = static_cast<double>(affine.weight_of(affine.first_channel(row) + c));
      sums = sums + GradientSums{weight * of_plane.gradients, weight * of_plane.gradients_times_normal};
      const std::int64_t plane = row * a.channels + c;
      if (dbias != nullptr) dbias[plane] = static_cast<T>(of_plane.gradients);
      if (dweight == nullptr) continue;
      dweight[plane] = static_cast<T>(of_plane.gradients_times_normal * static_cast<double>(of_row.inverse));
    }
    const RowGradient<T> gradient(of_row, team.folded(sums, add), a.width(), false);
    team.meet();  // dx may be dy, whose elements other lanes have read
    team.each(a.width(),
              [&](std::int64_t i) { dx[first + i] = gradient(x[first + i], dy[first + i] * affine.weight(row, i)); });
  }

 private:
  static __device__ GradientSums add(const GradientSums& a, const GradientSums& b) { return a + b; }
  __device__ GradientSums plane_sums(std::int64_t first, T mean) const {
    const auto of_element = [&](std::int64_t i) {
      const T gradient = dy[first + i];
      return GradientSums{static_cast<double>(gradient), static_cast<double>(gradient * (x[first + i] - mean))};
    };
    return Team<lanes>().reduce(a.inner, GradientSums{}, of_element, add);
  }
};

void run_group_norm_grad(const KernelCall& call, int) {
  const auto& a = call.attributes<GroupNormAttributes>();
  const int bias = a.has_weight ? 2 : 1, in = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    ChannelAffine<T> affine(a);
    if (a.has_weight) affine.weights = call.data<T>(in + 3);
    const auto run = [&]<int lanes>(std::integral_constant<int, lanes>) {
      const GroupNormGrad<T, lanes> grad{a,
                                         call.data<T>(in),
                                         call.data<T>(in + 2),
                                         call.data<T>(0),
                                         a.has_weight ? call.data<T>(1) : nullptr,
                                         a.has_bias ? call.data<T>(bias) : nullptr,
                                         Statistics<T>{call.data<T>(in + 1), a.rows()},
                                         affine};
      if (a.width() <= 32 * warp_threads) {
        for_teams<warp_threads>(call, a.rows(), grad);
      } else {
        for_teams<block_threads>(call, a.rows(), grad);
      }
    };
    if (a.inner < 16) {
      run(std::integral_constant<int, 1>());
    } else {
      run(std::integral_constant<int, warp_threads>());
    }
  });
}

}  // namespace

constinit const Kernel kernels::group_norm{.run = run_group_norm};
constinit const Kernel kernels::group_norm_grad{.run = run_group_norm_grad};

}  // namespace asyncgrad::detail::cuda
