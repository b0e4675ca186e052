// softmax, log_softmax, cross_entropy and their gradients: each line has a team. The largest element is subtracted
// first, so that nothing overflows.
#include <cmath>
#include <limits>

#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"

namespace asyncgrad::detail::cuda {

namespace {

template <class T, class Team, class Value>
__device__ T largest_of(Team team, std::int64_t n, Value value) {
  return team.reduce(n, lowest<T>(), value, [](T x, T y) { return larger(x, y); });
}
// Sums are computed in double.
template <class Team, class Value>
__device__ double sum_of(Team team, std::int64_t n, Value value) {
  return team.reduce(
      n, 0.0, [&](std::int64_t i) { return static_cast<double>(value(i)); }, [](double x, double y) { return x + y; });
}

// Elements of a line, `step` apart.
template <class T>
struct Line {
  T* data;
  std::int64_t step;
  __device__ T& operator[](std::int64_t i) const { return data[i * step]; }
};

// Each function passes over one line of n elements: out and x, or dx, y and dy.
struct Softmax {
  template <class Team, class T>
  __device__ void operator()(Team team, std::int64_t n, Line<T> out, Line<const T> x) const {
    const T largest = largest_of<T>(team, n, [&](std::int64_t i) { return x[i]; });
    const double sum = sum_of(team, n, [&](std::int64_t i) { return std::exp(x[i] - largest); });
    const T scale = static_cast<T>(1 / sum);
    team.each(n, [&](std::int64_t i) { out[i] = std::exp(x[i] - largest) * scale; });
  }
};
struct SoftmaxGrad {  // y (dy - sum(y dy))
  template <class Team, class T>
  __device__ void operator()(Team team, std::int64_t n, Line<T> dx, Line<const T> y, Line<const T> dy) const {
    const T mean = static_cast<T>(
        sum_of(team, n, [&](std::int64_t i) { return static_cast<double>(y[i]) * static_cast<double>(dy[i]); }));
    team.each(n, [&](std::int64_t i) { dx[i] = y[i] * (dy[i] - mean); });
  }
};
struct LogSoftmax {
  template <class Team, class T>
  __device__ void operator()(Team team, std::int64_t n, Line<T> out, Line<const T> x) const {
    const T largest = largest_of<T>(team, n, [&](std::int64_t i) { return x[i]; });
    const double sum = sum_of(team, n, [&](std::int64_t i) { return std::exp(x[i] - largest); });
    const T log_sum = static_cast<T>(std::log(sum));
    team.each(n, [&](std::int64_t i) { out[i] = (x[i] - largest) - log_sum; });
  }
};
struct LogSoftmaxGrad {  // dy - e^y sum(dy)
  template <class Team, class T>
  __device__ void operator()(Team team, std::int64_t n, Line<T> dx, Line<const T> y, Line<const T> dy) const {
    const T sum = static_cast<T>(sum_of(team, n, [&](std::int64_t i) { return dy[i]; }));
    team.each(n, [&](std::int64_t i) { dx[i] = dy[i] - std::exp(y[i]) * sum; });
  }
};

// A function of one line for each line of tensors that are laid out alike.
template <class Function, class T, int inputs>
struct EachLine {
  Lines lines;
  T* out;
  const T* in[inputs];

  template <class Team>
  __device__ void operator()(Team team, std::int64_t line) const {
    const std::int64_t first = lines.first(line), step = lines.inner;
    if constexpr (inputs == 1) {
      Function()(team, lines.axis, Line<T>{out + first, step}, Line<const T>{in[0] + first, step});
    } else {
      Function()(team, lines.axis, Line<T>{out + first, step}, Line<const T>{in[0] + first, step},
                 Line<const T>{in[1] + first, step});
    }
  }
};

template <class Body>
void for_lines(const KernelCall& call, const Lines& lines, const Body& body) {
  if (lines.axis == 0) return;
  constexpr std::int64_t many = 16384;  // lines that keep a GPU busy by a thread each
  if (lines.inner > 1 && lines.count() >= many) {
    for_teams<1>(call, lines.count(), body);  // neighbours read neighbouring elements
  } else {
    for_teams_of(lines.axis, call, lines.count(), body);
  }
}

template <class Function>
void run_value(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_lines(call, lines_of(call), EachLine<Function, T, 1>{lines_of(call), call.data<T>(0), {call.data<T>(1)}});
  });
}
template <class Function>
void run_grad(const KernelCall& call, int) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_lines(call, lines_of(call),
              EachLine<Function, T, 2>{lines_of(call), call.data<T>(0), {call.data<T>(1), call.data<T>(2)}});
  });
}

// --- cross_entropy: logits (N, C), labels (N). A label outside of the classes, which nobody can check before the
// --- operation runs, makes its sample's results NaN.

template <class T>
struct CrossEntropy {
  Lines rows;
  T* out;
  const T* logits;
  const std::int64_t* labels;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const T* const x = logits + row * rows.axis;
    const T largest = largest_of<T>(team, rows.axis, [&](std::int64_t i) { return x[i]; });
    const double sum = sum_of(team, rows.axis, [&](std::int64_t i) { return std::exp(x[i] - largest); });
    team.each(1, [&](std::int64_t) {
      const std::int64_t label = labels[row];
      out[row] = label < 0 || label >= rows.axis
                     ? std::numeric_limits<T>::quiet_NaN()
                     : static_cast<T>(std::log(sum) - static_cast<double>(x[label] - largest));
    });
  }
};

template <class T>
struct CrossEntropyGrad {  // dy (softmax(x) - one at label)
  Lines rows;
  T* dlogits;
  const T* logits;
  const std::int64_t* labels;
  const T* dy;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const std::int64_t label = labels[row], first = row * rows.axis;
    const T gradient = label < 0 || label >= rows.axis ? std::numeric_limits<T>::quiet_NaN() : dy[row];
    Softmax()(team, rows.axis, Line<T>{dlogits + first, 1}, Line<const T>{logits + first, 1});
    team.each(rows.axis, [&](std::int64_t i) {
      const T y = dlogits[first + i];
      dlogits[first + i] = gradient * (i == label ? y - 1 : y);
    });
  }
};

Lines rows_of(const KernelCall& call) { return {call.shape(1)[0], call.shape(1)[1], 1}; }

void run_cross_entropy(const KernelCall& call, int) {
  const Lines rows = rows_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_teams_of(rows.axis, call, rows.outer,
                 CrossEntropy<T>{rows, call.data<T>(0), call.data<T>(1), call.data<std::int64_t>(2)});
  });
}

void run_cross_entropy_grad(const KernelCall& call, int) {
  const Lines rows = rows_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for_teams_of(
        rows.axis, call, rows.outer,
        CrossEntropyGrad<T>{rows, call.data<T>(0), call.data<T>(1), call.data<std::int64_t>(2), call.data<T>(3)});
  });
}

}  // namespace

constinit const Kernel kernels::softmax{.run = run_value<Softmax>};
constinit const Kernel kernels::softmax_grad{.run = run_grad<SoftmaxGrad>};
constinit const Kernel kernels::log_softmax{.run = run_value<LogSoftmax>};
constinit const Kernel kernels::log_softmax_grad{.run = run_grad<LogSoftmaxGrad>};
constinit const Kernel kernels::cross_entropy{.run = run_cross_entropy};
constinit const Kernel kernels::cross_entropy_grad{.run = run_cross_entropy_grad};

}  // namespace asyncgrad::detail::cuda
