// group_norm and its gradient: a row, which is a group of a sample, has a team, unless there are few long ones.
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
    norm_rows(call,
              NormRows<T, ChannelAffine<T>>{a.width(), a.epsilon, false, call.data<T>(2), call.data<T>(0),
                                            Statistics<T>{call.data<T>(1), a.rows()}, affine},
              call.scratch);
  });
}

std::int64_t scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<GroupNormAttributes>();
  return norm_scratch_bytes(a.rows(), a.width());
}

// --- The gradient, of x perhaps over dy. The sums of a plane are those of weight and bias for a sample; with the
// --- channels' weights they add up to those of the row. A part of the team, `lanes` of it, sums up a plane.

// Makes the results of a plane from its sums.
template <class T>
struct PlaneResults {
  std::int64_t channels;  // of a group
  T *dweight, *dbias;     // either may be null
  Statistics<T> statistics;
  ChannelAffine<T> affine;

  // Writes the gradients of weight and bias, and returns the plane's share in the sums of its row.
  __device__ GradientSums finish(std::int64_t row, std::int64_t c, const GradientSums& of_plane) const {
    const std::int64_t plane = row * channels + c;
    if (dbias != nullptr) dbias[plane] = static_cast<T>(of_plane.gradients);
    if (dweight != nullptr) {
      dweight[plane] =
          static_cast<T>(of_plane.gradients_times_normal * static_cast<double>(statistics.of(row).inverse));
    }
    const auto weight = static_cast<double>(affine.weight_of(affine.first_channel(row) + c));
    return {weight * of_plane.gradients, weight * of_plane.gradients_times_normal};
  }
};

template <class T, int lanes>
struct GroupNormGrad {
  GroupNormAttributes a;
  const T *x, *dy;
  T* dx;
  PlaneResults<T> results;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    static_assert(lanes <= warp_threads && Team::size % lanes == 0);
    const RowStatistics<T> of_row = results.statistics.of(row);
    const std::int64_t first = row * a.width();
    GradientSums sums{};
    for (std::int64_t c = Team::lane() / lanes; c < a.channels; c += Team::size / lanes) {
      const GradientSums of_plane = plane_sums(first + c * a.inner, of_row.mean);
      // Each lane has the plane's sums, and one adds them.
      if (Team::lane() % lanes == 0) sums = sums + results.finish(row, c, of_plane);
    }
    const RowGradient<T> gradient(of_row, team.folded(sums, added), a.width(), false);
    team.meet();  // dx may be dy, whose elements other lanes have read
    team.each(a.width(), [&](std::int64_t i) {
      dx[first + i] = gradient(x[first + i], dy[first + i] * results.affine.weight(row, i));
    });
  }

 private:
  __device__ GradientSums plane_sums(std::int64_t first, T mean) const {
    const auto of_element = [&](std::int64_t i) { return gradient_sums(dy[first + i], x[first + i], mean); };
    return Team<lanes>().reduce(a.inner, GradientSums{}, of_element, added);
  }
};

// --- The same of few long rows: the sums of planes, then those of rows, then each element

template <class T>
struct PlaneSums {
  using Partial = GradientSums;
  const T *x, *dy;
  PlaneResults<T> results;
  Divisor planes_of_row;
  GradientSums* shares;  // of planes in the sums of their rows

  __device__ Partial identity() const { return {}; }
  __device__ Partial value(std::int64_t plane, std::int64_t element) const {
    return gradient_sums(dy[element], x[element], results.statistics.data[planes_of_row(plane).quotient]);
  }
  __device__ Partial combine(const Partial& a, const Partial& b) const { return a + b; }
  __device__ void finish(std::int64_t plane, const Partial& sums) const {
    const Divided at = planes_of_row(plane);
    shares[plane] = results.finish(at.quotient, at.remainder, sums);
  }
};

template <class T>
struct SharesOfRow {
  const GradientSums* shares;
  std::int64_t channels, width;
  Statistics<T> statistics;
  RowGradient<T>* gradients;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const GradientSums sums = team.reduce(
        channels, GradientSums{}, [&](std::int64_t c) { return shares[row * channels + c]; }, added);
    team.each(1, [&](std::int64_t) { gradients[row] = RowGradient<T>(statistics.of(row), sums, width, false); });
  }
};

// Where planes are so small that a sum for each would be much memory, rows have teams, however long they are.
bool are_planes_summed(const GroupNormAttributes& a) {
  return are_few_and_long(lines_of_rows(a.rows(), a.width())) && a.inner >= 64;
}
Lines lines_of_planes(const GroupNormAttributes& a) { return lines_of_rows(a.rows() * a.channels, a.inner); }

// At most a sixteenth of the elements, and some bytes for each of at most 255 rows.
std::int64_t grad_scratch_bytes(const KernelCall& call) {
  const auto& a = call.attributes<GroupNormAttributes>();
  if (!are_planes_summed(a)) return 0;
  return reduce_scratch_bytes(lines_of_planes(a)) +
         a.rows() * a.channels * static_cast<std::int64_t>(sizeof(GradientSums)) +
         a.rows() * static_cast<std::int64_t>(sizeof(RowGradient<double>));
}

template <class T>
void grad_of_long_rows(const KernelCall& call, const GroupNormAttributes& a, const T* x, const T* dy,
                       const PlaneResults<T>& results) {
  const Lines planes = lines_of_planes(a);
  auto* const shares = reinterpret_cast<GradientSums*>(call.scratch + reduce_scratch_bytes(planes));
  auto* const gradients = reinterpret_cast<RowGradient<T>*>(shares + a.rows() * a.channels);
  reduce(call, planes, PlaneSums<T>{x, dy, results, Divisor(a.channels), shares}, call.scratch);
  for_teams_of(a.channels, call, a.rows(),
               SharesOfRow<T>{shares, a.channels, a.width(), results.statistics, gradients});
  for_each(call, a.rows() * a.width(),
           GradientElement<T, ChannelAffine<T>>{x, dy, call.data<T>(0), gradients, results.affine, Divisor(a.width())});
}

void run_group_norm_grad(const KernelCall& call, int) {
  const auto& a = call.attributes<GroupNormAttributes>();
  const int bias = a.has_weight ? 2 : 1, in = bias + (a.has_bias ? 1 : 0);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    ChannelAffine<T> affine(a);
    if (a.has_weight) affine.weights = call.data<T>(in + 3);
    const T *const x = call.data<T>(in), *const dy = call.data<T>(in + 2);
    const PlaneResults<T> results{a.channels, a.has_weight ? call.data<T>(1) : nullptr,
                                  a.has_bias ? call.data<T>(bias) : nullptr,
                                  Statistics<T>{call.data<T>(in + 1), a.rows()}, affine};
    if (are_planes_summed(a)) return grad_of_long_rows(call, a, x, dy, results);
    const auto run = [&]<int lanes>(std::integral_constant<int, lanes>) {
      const GroupNormGrad<T, lanes> grad{a, x, dy, call.data<T>(0), results};
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

constinit const Kernel kernels::group_norm{.run = run_group_norm, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::group_norm_grad{.run = run_group_norm_grad, .scratch_bytes = grad_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
