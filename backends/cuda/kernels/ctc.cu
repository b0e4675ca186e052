// Connectionist temporal classification and its gradient. Sums of probabilities are logarithms in float64, as on the CPU,
// where backends/cpu/sequences/ctc.cpp says what states and paths are.
//
// Lengths and labels lie on the device, so they cannot be checked before the operation runs. Where one is out of range
// the sample's loss and gradient are NaN.
#include <algorithm>
#include <cmath>
#include <limits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"
#include "asyncgrad/backends/divided.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail::cuda {

namespace {

__device__ inline double log_of_sum(double x, double y, double z) {
  const double largest = larger(larger(x, y), z);
  if (largest == lowest<double>()) return largest;
  return largest + std::log(std::exp(x - largest) + std::exp(y - largest) + std::exp(z - largest));
}

template <class T>
struct Samples {
  const T* x;  // (steps, count, classes)
  const std::int64_t *targets, *input_lengths, *target_lengths;
  std::int64_t steps, count, classes, width, blank;  // targets (count, width)

  std::int64_t max_states() const { return 2 * width + 1; }
};
template <class T>
Samples<T> samples_of(const KernelCall& call) {
  return {.x = call.data<T>(1),
          .targets = call.data<std::int64_t>(2),
          .input_lengths = call.data<std::int64_t>(3),
          .target_lengths = call.data<std::int64_t>(4),
          .steps = call.shape(1)[0],
          .count = call.shape(1)[1],
          .classes = call.shape(1)[2],
          .width = call.shape(2)[1],
          .blank = call.attributes<CtcAttributes>().blank};
}

// One sample, whose steps and states are read from the first to the last or, backwards, the other way round. A row has
// for each state the sum over the paths that come to it at a step, without the step's own probability.
template <class T>
struct Paths {
  const T* x;
  const std::int64_t* labels;
  std::int64_t steps, length, states, step, blank;  // `step`: elements from one step to the next
  bool is_backward;

  __device__ Paths(const Samples<T>& samples, std::int64_t n, bool backward)
      : x(samples.x + n * samples.classes),
        labels(samples.targets + n * samples.width),
        steps(samples.input_lengths[n]),
        length(samples.target_lengths[n]),
        states(2 * length + 1),
        step(samples.count * samples.classes),
        blank(samples.blank),
        is_backward(backward) {}

  template <class Team>
  __device__ bool are_valid(Team team, const Samples<T>& samples) const {
    if (steps < 0 || steps > samples.steps || length < 0 || length > samples.width) return false;
    const auto is_wrong = [&](std::int64_t i) -> std::int64_t {
      return labels[i] < 0 || labels[i] >= samples.classes || labels[i] == blank ? 1 : 0;
    };
    return team.reduce(length, std::int64_t{0}, is_wrong, [](std::int64_t a, std::int64_t b) { return a + b; }) == 0;
  }

  __device__ std::int64_t label(std::int64_t state) const {
    return state % 2 == 0 ? blank : labels[(is_backward ? states - 1 - state : state) / 2];
  }
  // With the probability of the row's own step.
  __device__ double with_step(const double* row, std::int64_t index, std::int64_t state) const {
    const std::int64_t t = is_backward ? steps - 1 - index : index;
    return row[state] + static_cast<double>(x[t * step + label(state)]);
  }
  // The row `index`, of `kept` rows in turns, from the one before.
  template <class Team>
  __device__ void fill(Team team, double* rows, std::int64_t row_states, std::int64_t index, std::int64_t kept) const {
    double* const row = rows + index % kept * row_states;
    const double* const before = rows + (index + kept - 1) % kept * row_states;
    team.each(states, [&](std::int64_t s) {
      if (index == 0) {
        row[s] = s < 2 ? 0.0 : lowest<double>();
        return;
      }
      const auto from = [&](bool is_there, std::int64_t state) {
        return is_there ? with_step(before, index - 1, state) : lowest<double>();
      };
      row[s] = log_of_sum(from(true, s), from(s > 0, s - 1), from(s > 1 && label(s) != label(s - 2), s - 2));
    });
    team.meet();
  }
  template <class Team>
  __device__ void fill_all(Team team, double* rows, std::int64_t row_states, std::int64_t kept) const {
    for (std::int64_t index = 0; index < steps; ++index) fill(team, rows, row_states, index, kept);
  }
  // From the last row.
  __device__ double loss(const double* row) const {
    const double other = states > 1 ? with_step(row, steps - 1, states - 2) : lowest<double>();
    return 0 - log_of_sum(with_step(row, steps - 1, states - 1), other, lowest<double>());
  }
};

constexpr std::int64_t few_states = 64;

// A team for each item; a step waits for the whole team.
template <class Body>
void for_states(const KernelCall& call, std::int64_t states, std::int64_t items, const Body& body) {
  if (states <= few_states) return for_teams<warp_threads>(call, items, body);
  for_teams<block_threads>(call, items, body);
}

// --- The loss: the sums of two steps.

template <class T>
struct Loss {
  T* out;
  Samples<T> samples;
  double* rows;
  std::int64_t row_states;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t n) const {
    const Paths<T> paths(samples, n, false);
    double* const own = rows + n * 2 * row_states;
    const bool are_valid = paths.are_valid(team, samples);
    if (are_valid) paths.fill_all(team, own, row_states, 2);
    team.each(1, [&](std::int64_t) {
      if (!are_valid) {
        out[n] = std::numeric_limits<T>::quiet_NaN();
      } else if (paths.steps == 0) {
        out[n] = paths.states == 1 ? T(0) : std::numeric_limits<T>::infinity();
      } else {
        out[n] = static_cast<T>(paths.loss(own + (paths.steps - 1) % 2 * row_states));
      }
    });
  }
};

void run_ctc(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Samples<T> samples = samples_of<T>(call);
    for_states(call, samples.max_states(), samples.count,
               Loss<T>{call.data<T>(0), samples, reinterpret_cast<double*>(call.scratch), samples.max_states()});
  });
}

std::int64_t row_bytes(const KernelCall& call) {
  return (2 * call.shape(2)[1] + 1) * static_cast<std::int64_t>(sizeof(double));
}

// --- Its gradient: at each step minus the probability that a path of the target has the class there. First the sums of
// --- all steps in both directions, then each step of each sample by itself.

template <class T>
struct Sums {
  Samples<T> samples;
  const T* dy;
  double* rows;  // (samples of the group, 2, steps, states)
  std::int64_t row_states, first;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const std::int64_t n = first + item / 2;
    const Paths<T> paths(samples, n, item % 2 != 0);
    if (dy[n] == T(0) || !paths.are_valid(team, samples)) return;
    paths.fill_all(team, rows + item * samples.steps * row_states, row_states, samples.steps);
  }
};

template <class T>
struct Gradient {
  T* dx;
  Sums<T> sums;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t item) const {
    const Samples<T>& samples = sums.samples;
    const Divided at = divided(item, samples.steps);
    const std::int64_t t = at.remainder, n = sums.first + at.quotient, row_states = sums.row_states;
    const Paths<T> paths(samples, n, false);
    T* const to = dx + (t * samples.count + n) * samples.classes;
    const T dy = sums.dy[n];
    // A loss that is infinite may be left out by a gradient of 0.
    const bool are_valid = dy == T(0) || paths.are_valid(team, samples);
    team.each(samples.classes, [&](std::int64_t c) { to[c] = are_valid ? T(0) : std::numeric_limits<T>::quiet_NaN(); });
    if (!are_valid || dy == T(0) || t >= paths.steps) return;
    const double* const rows = sums.rows + at.quotient * 2 * samples.steps * row_states;
    const double* const before = rows + t * row_states;
    const double* const after = rows + (samples.steps + paths.steps - 1 - t) * row_states;
    const double loss = paths.loss(rows + (paths.steps - 1) * row_states);
    const auto probability = [&](std::int64_t state) {
      return std::exp(paths.with_step(before, t, state) + after[paths.states - 1 - state] + loss);
    };
    const auto put = [&](std::int64_t label, double sum) {
      to[label] = static_cast<T>(-sum * static_cast<double>(dy));
    };
    const double of_blank = team.reduce(
        paths.length + 1, 0.0, [&](std::int64_t i) { return probability(2 * i); },
        [](double x, double y) { return x + y; });
    team.meet();
    team.each(1, [&](std::int64_t) { put(paths.blank, of_blank); });
    team.each(paths.length, [&](std::int64_t i) {
      const std::int64_t label = paths.labels[i];
      for (std::int64_t j = 0; j < i; ++j) {
        if (paths.labels[j] == label) return;  // that one adds up all of them
      }
      double sum = 0;
      for (std::int64_t j = i; j < paths.length; ++j) {
        if (paths.labels[j] == label) sum += probability(2 * j + 1);
      }
      put(label, sum);
    });
  }
};

std::int64_t sample_bytes(const KernelCall& call) { return 2 * call.shape(1)[0] * row_bytes(call); }

// So many samples at once that their sums take no more than 256 MiB, but one at least.
std::int64_t samples_at_once(const KernelCall& call) {
  constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
  const std::int64_t bytes = std::max<std::int64_t>(1, sample_bytes(call));
  return std::clamp<std::int64_t>(most_bytes / bytes, 1, std::max<std::int64_t>(1, call.shape(1)[1]));
}

void run_ctc_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Samples<T> samples = samples_of<T>(call);
    const std::int64_t at_once = samples_at_once(call);
    Sums<T> sums{samples, call.data<T>(5), reinterpret_cast<double*>(call.scratch), samples.max_states(), 0};
    for (; sums.first < samples.count; sums.first += at_once) {
      const std::int64_t count = std::min(at_once, samples.count - sums.first);
      for_states(call, samples.max_states(), 2 * count, sums);
      for_teams<warp_threads>(call, count * samples.steps, Gradient<T>{call.data<T>(0), sums});
    }
  });
}

}  // namespace

constinit const Kernel kernels::ctc{
    .run = run_ctc, .scratch_bytes = [](const KernelCall& call) { return 2 * call.shape(1)[1] * row_bytes(call); }};
constinit const Kernel kernels::ctc_grad{.run = run_ctc_grad, .scratch_bytes = [](const KernelCall& call) {
                                           return samples_at_once(call) * sample_bytes(call);
                                         }};

}  // namespace asyncgrad::detail::cuda
