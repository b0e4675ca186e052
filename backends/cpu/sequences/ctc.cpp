// Connectionist temporal classification and its gradient: a tile is a sample. Sums of probabilities are logarithms in
// float64.
//
// State s of a sample is element s of its labels with a blank before, between and after them. A path begins in one of
// the first two states, stays, goes to the next state, or skips a blank between labels that differ, and ends in one of
// the last two.
#include "asyncgrad/backends/cpu/sequences/ctc_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

constexpr double zero = -std::numeric_limits<double>::infinity();  // the logarithm of the probability 0
constexpr std::int64_t number_bytes = sizeof(double);
static_assert(sizeof(double) == sizeof(std::int64_t));

std::int64_t steps_of(const KernelCall& call) { return call.shape(1)[0]; }
std::int64_t samples_of(const KernelCall& call) { return call.shape(1)[1]; }
std::int64_t classes_of(const KernelCall& call) { return call.shape(1)[2]; }
std::int64_t max_states_of(const KernelCall& call) { return 2 * call.shape(2)[1] + 1; }

// The room of the sums of one step, see CtcStates.
std::int64_t row_of(std::int64_t states) { return 2 + states_with_room(states); }

// Sums over the paths of one sample, from its first step on. From its last step on they are the same of the opposite
// order of steps and states.
template <class T>
class Paths {
 public:
  enum class Order : std::uint8_t { forward, backward };

  // `scratch`: 2 states_with_room(states) numbers.
  Paths(const KernelCall& call, std::int64_t n, Order order, double* scratch)
      : x_(call.data<T>(1) + n * classes_of(call)),
        step_(samples_of(call) * classes_of(call)),
        states_(2 * call.data<std::int64_t>(4)[n] + 1),
        skip_(scratch),
        labels_(reinterpret_cast<std::int64_t*>(scratch + states_with_room(states_))) {
    const std::int64_t* const labels = call.data<std::int64_t>(2) + n * call.shape(2)[1];
    const std::int64_t blank = call.attributes<CtcAttributes>().blank;
    for (std::int64_t s = 0; s < states_; ++s) {
      labels_[s] = s % 2 == 0 ? blank : labels[order == Order::forward ? s / 2 : (states_ - 1 - s) / 2];
    }
    std::fill_n(skip_, states_with_room(states_), zero);
    for (std::int64_t s = 2; s < states_; ++s) skip_[s] = labels_[s] == labels_[s - 2] ? zero : 0;
  }

  std::int64_t states() const { return states_; }
  std::int64_t label(std::int64_t state) const { return labels_[state]; }

  // Sums at the first step, without its probabilities.
  void begin(double* sums) const {
    std::fill_n(sums - 2, row_of(states_), zero);
    std::fill_n(sums, std::min<std::int64_t>(states_, 2), 0.0);
  }
  // The same at the next step.
  void advance(const double* before, double* sums) const {
    sums[-2] = sums[-1] = zero;
    ctc_states().advance(before, skip_, sums, states_);
  }
  // Multiplies them by the probabilities of a step.
  void take_part(std::int64_t step, double* sums) const {
    const T* const x = x_ + step * step_;
    for (std::int64_t s = 0; s < states_; ++s) sums[s] += static_cast<double>(x[labels_[s]]);
  }
  // From the sums at the last step, with its probabilities.
  double loss(const double* sums) const {
    const double last = sums[states_ - 1], other = sums[states_ - 2];  // which is there, see CtcStates
    const double largest = std::max(last, other);
    if (!(largest > zero)) return 0 - (last + other);  // both are 0, or one is NaN
    return 0 - (largest + std::log(std::exp(last - largest) + std::exp(other - largest)));
  }

 private:
  const T* x_;
  std::int64_t step_;  // elements from one step to the next
  std::int64_t states_;
  double* skip_;
  std::int64_t* labels_;
};

void check_values(const char* operation, const KernelCall& call) {
  const auto check_length = [operation](const char* what, std::int64_t length, std::int64_t n, std::int64_t limit) {
    if (length >= 0 && length <= limit) return;
    throw_error(operation, fmt::format("{} {} of sample {} is outside of [0, {}]", what, length, n, limit),
                ErrorKind::index);
  };
  const std::int64_t blank = call.attributes<CtcAttributes>().blank, width = call.shape(2)[1];
  for (std::int64_t n = 0; n < samples_of(call); ++n) {
    const std::int64_t length = call.data<std::int64_t>(4)[n];
    check_length("the input length", call.data<std::int64_t>(3)[n], n, steps_of(call));
    check_length("the target length", length, n, width);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t label = call.data<std::int64_t>(2)[n * width + i];
      if (label >= 0 && label < classes_of(call) && label != blank) continue;
      throw_error(operation,
                  fmt::format("label {} at position {} of sample {} is {}", label, i, n,
                              label == blank ? "the blank" : fmt::format("outside {} classes", classes_of(call))),
                  ErrorKind::index);
    }
  }
}
void check_ctc(const KernelCall& call) { check_values("ctc", call); }
void check_ctc_grad(const KernelCall& call) { check_values("ctc_grad", call); }

int sample_tiles(const KernelCall& call) { return static_cast<int>(std::max<std::int64_t>(1, samples_of(call))); }
std::int64_t ctc_cost(const KernelCall& call) { return 10 * steps_of(call) * samples_of(call) * max_states_of(call); }

// --- The loss: the sums of two steps.

std::int64_t ctc_scratch(const KernelCall& call) {
  return (2 * row_of(max_states_of(call)) + 2 * states_with_room(max_states_of(call))) * number_bytes;
}

void run_ctc(const KernelCall& call, int n) {
  if (n >= samples_of(call)) return;
  const std::int64_t row = row_of(max_states_of(call)), steps = call.data<std::int64_t>(3)[n];
  auto* const scratch = reinterpret_cast<double*>(call.scratch);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T& loss = call.data<T>(0)[n];
    const Paths<T> paths(call, n, Paths<T>::Order::forward, scratch + 2 * row);
    if (steps == 0) {
      loss = static_cast<T>(paths.states() == 1 ? 0 : -zero);
      return;
    }
    double *sums = scratch + 2, *next = sums + row;
    paths.begin(sums);
    paths.take_part(0, sums);
    for (std::int64_t step = 1; step < steps; ++step) {
      paths.advance(sums, next);
      paths.take_part(step, next);
      std::swap(sums, next);
    }
    loss = static_cast<T>(paths.loss(sums));
  });
}

// --- Its gradient: at each step minus the probability that a path of the target has the class there.

std::int64_t ctc_grad_scratch(const KernelCall& call) {
  const std::int64_t states = max_states_of(call);
  return ((steps_of(call) + 3) * row_of(states) + 4 * states_with_room(states) + classes_of(call)) * number_bytes;
}

// dx: of the sample's first step; the next ones are `stride` elements apart.
template <class T>
void ctc_gradient(const KernelCall& call, std::int64_t n, std::int64_t steps, double dy, T* dx, std::int64_t stride) {
  const std::int64_t row = row_of(max_states_of(call)), room = states_with_room(max_states_of(call));
  auto* const sums = reinterpret_cast<double*>(call.scratch) + 2;
  double *rests = sums + steps * row, *next = rests + row;
  double *const of_states = next + row, *const of_classes = of_states + room,
                *const rest = of_classes + classes_of(call);
  const Paths<T> paths(call, n, Paths<T>::Order::forward, rest);
  const Paths<T> back(call, n, Paths<T>::Order::backward, rest + 2 * room);
  const std::int64_t states = paths.states();
  paths.begin(sums);
  paths.take_part(0, sums);
  for (std::int64_t t = 1; t < steps; ++t) {
    paths.advance(sums + (t - 1) * row, sums + t * row);
    paths.take_part(t, sums + t * row);
  }
  const double loss = paths.loss(sums + (steps - 1) * row);
  back.begin(rests);
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    for (std::int64_t s = 0; s < states; ++s) of_states[s] = sums[t * row + s] + rests[states - 1 - s];
    ctc_states().exponentials(of_states, loss, states);
    std::fill_n(of_classes, classes_of(call), 0.0);
    for (std::int64_t s = 0; s < states; ++s) of_classes[paths.label(s)] += of_states[s];
    for (std::int64_t c = 0; c < classes_of(call); ++c) dx[t * stride + c] = static_cast<T>(-of_classes[c] * dy);
    back.take_part(t, rests);
    back.advance(rests, next);
    std::swap(rests, next);
  }
}

void run_ctc_grad(const KernelCall& call, int n) {
  if (n >= samples_of(call)) return;
  const std::int64_t classes = classes_of(call), stride = samples_of(call) * classes;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const dx = call.data<T>(0) + n * classes;
    const T dy = call.data<T>(5)[n];
    // A loss that is infinite may be left out by a gradient of 0.
    const std::int64_t steps = dy == 0 ? 0 : call.data<std::int64_t>(3)[n];
    for (std::int64_t t = steps; t < steps_of(call); ++t) std::fill_n(dx + t * stride, classes, T{0});
    if (steps > 0) ctc_gradient(call, n, steps, static_cast<double>(dy), dx, stride);
  });
}

}  // namespace

constinit const Kernel cpu_kernels::ctc{
    .run = run_ctc, .tiles = sample_tiles, .prepare = check_ctc, .scratch_bytes = ctc_scratch, .cost = ctc_cost};
constinit const Kernel cpu_kernels::ctc_grad{.run = run_ctc_grad,
                                             .tiles = sample_tiles,
                                             .prepare = check_ctc_grad,
                                             .scratch_bytes = ctc_grad_scratch,
                                             .cost = ctc_cost};

}  // namespace asyncgrad::detail
