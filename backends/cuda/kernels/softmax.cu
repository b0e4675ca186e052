// softmax, log_softmax, cross_entropy and their gradients: each line has a team, which goes through it several times. Few
// long lines are reduced in chunks instead, and then each element is computed by itself. The largest element is subtracted
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

// Functions of x: of each element, of the line's largest one, and of a number that the sum of the line's exp(x - largest)
// gives.
struct Softmax {
  static __device__ double number(double sum) { return 1 / sum; }
  template <class T>
  static __device__ T value(T x, T largest, T scale) {
    return std::exp(x - largest) * scale;
  }
};
struct LogSoftmax {
  static __device__ double number(double sum) { return std::log(sum); }
  template <class T>
  static __device__ T value(T x, T largest, T log_sum) {
    return (x - largest) - log_sum;
  }
};

// Gradients, of y and dy: of both elements, and of the sum of the line's terms.
struct SoftmaxGrad {  // y (dy - sum(y dy))
  template <class T>
  static __device__ double term(T y, T dy) {
    return static_cast<double>(y) * static_cast<double>(dy);
  }
  template <class T>
  static __device__ T value(T y, T dy, T sum) {
    return y * (dy - sum);
  }
};
struct LogSoftmaxGrad {  // dy - e^y sum(dy)
  template <class T>
  static __device__ double term(T, T dy) {
    return static_cast<double>(dy);
  }
  template <class T>
  static __device__ T value(T y, T dy, T sum) {
    return dy - std::exp(y) * sum;
  }
};

// Pass over one line of n elements: out and x, or dx, y and dy.
template <class Function>
struct OfLine {
  template <class Team, class T>
  __device__ void operator()(Team team, std::int64_t n, Line<T> out, Line<const T> x) const {
    const T largest = largest_of<T>(team, n, [&](std::int64_t i) { return x[i]; });
    const double sum = sum_of(team, n, [&](std::int64_t i) { return std::exp(x[i] - largest); });
    const T number = static_cast<T>(Function::number(sum));
    team.each(n, [&](std::int64_t i) { out[i] = Function::value(x[i], largest, number); });
  }
  template <class Team, class T>
  __device__ void operator()(Team team, std::int64_t n, Line<T> dx, Line<const T> y, Line<const T> dy) const {
    const T sum = static_cast<T>(sum_of(team, n, [&](std::int64_t i) { return Function::term(y[i], dy[i]); }));
    team.each(n, [&](std::int64_t i) { dx[i] = Function::value(y[i], dy[i], sum); });
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
      OfLine<Function>()(team, lines.axis, Line<T>{out + first, step}, Line<const T>{in[0] + first, step});
    } else {
      OfLine<Function>()(team, lines.axis, Line<T>{out + first, step}, Line<const T>{in[0] + first, step},
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

// --- Few long lines. For each line there are two numbers: its largest element and the number that its sum gives, or the
// --- sum of a gradient's terms.

template <class T>
struct Largest {
  using Partial = T;
  const T* x;
  T* largest;

  __device__ T identity() const { return lowest<T>(); }
  __device__ T value(std::int64_t, std::int64_t element) const { return x[element]; }
  __device__ T combine(T a, T b) const { return larger(a, b); }
  __device__ void finish(std::int64_t line, T found) const { largest[line] = found; }
};

// Results has finish(line, sum).
template <class T, class Results>
struct ExpSum : Summing<T> {
  const T *x, *largest;
  Results results;

  __device__ double value(std::int64_t line, std::int64_t element) const {
    return static_cast<double>(std::exp(x[element] - largest[line]));
  }
  __device__ void finish(std::int64_t line, double sum) const { results.finish(line, sum); }
};

template <class T, class Function>
struct SetNumber {
  T* numbers;
  __device__ void finish(std::int64_t line, double sum) const { numbers[line] = static_cast<T>(Function::number(sum)); }
};

template <class T, class Function>
struct TermSum : Summing<T> {
  const T *y, *dy;
  T* sums;

  __device__ double value(std::int64_t, std::int64_t element) const { return Function::term(y[element], dy[element]); }
  __device__ void finish(std::int64_t line, double sum) const { sums[line] = static_cast<T>(sum); }
};

template <class T, class Function>
struct EachElement {
  LineOf line_of;
  T* out;
  const T *x, *largest, *numbers;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t line = line_of(i);
    out[i] = Function::value(x[i], largest[line], numbers[line]);
  }
};

template <class T, class Function>
struct EachGradient {
  LineOf line_of;
  T* dx;
  const T *y, *dy, *sums;

  __device__ void operator()(std::int64_t i) const { dx[i] = Function::value(y[i], dy[i], sums[line_of(i)]); }
};

// At most a sixteenth of the elements, and two numbers for each line.
std::int64_t long_lines_scratch_bytes(const Lines& lines) {
  if (!are_few_and_long(lines)) return 0;
  return reduce_scratch_bytes(lines) + 2 * lines.count() * static_cast<std::int64_t>(sizeof(double));
}
// The lines' numbers, behind what reductions need.
template <class T>
T* numbers_of(const KernelCall& call, const Lines& lines) {
  return reinterpret_cast<T*>(call.scratch + reduce_scratch_bytes(lines));
}

// Finds the largest elements, and hands the sums over to the results.
template <class T, class Results>
void sum_long_lines(const KernelCall& call, const Lines& lines, const T* x, T* largest, const Results& results) {
  reduce(call, lines, Largest<T>{x, largest}, call.scratch);
  reduce(call, lines, ExpSum<T, Results>{{}, x, largest, results}, call.scratch);
}

template <class Function, class T>
void run_long_lines(const KernelCall& call, const Lines& lines, T* out, const T* x) {
  T *const largest = numbers_of<T>(call, lines), *const numbers = largest + lines.count();
  sum_long_lines(call, lines, x, largest, SetNumber<T, Function>{numbers});
  for_each(call, lines.count() * lines.axis, EachElement<T, Function>{LineOf(lines), out, x, largest, numbers});
}

// --- Either form

std::int64_t scratch_bytes(const KernelCall& call) { return long_lines_scratch_bytes(lines_of(call)); }

template <class Function>
void run_value(const KernelCall& call, int) {
  const Lines lines = lines_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const out = call.data<T>(0);
    const T* const x = call.data<T>(1);
    if (are_few_and_long(lines)) return run_long_lines<Function>(call, lines, out, x);
    for_lines(call, lines, EachLine<Function, T, 1>{lines, out, {x}});
  });
}
template <class Function>
void run_grad(const KernelCall& call, int) {
  const Lines lines = lines_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const dx = call.data<T>(0);
    const T *const y = call.data<T>(1), *const dy = call.data<T>(2);
    if (!are_few_and_long(lines)) return for_lines(call, lines, EachLine<Function, T, 2>{lines, dx, {y, dy}});
    T* const sums = numbers_of<T>(call, lines);
    reduce(call, lines, TermSum<T, Function>{{}, y, dy, sums}, call.scratch);
    for_each(call, lines.count() * lines.axis, EachGradient<T, Function>{LineOf(lines), dx, y, dy, sums});
  });
}

// --- cross_entropy: logits (N, C), labels (N). A label outside of the classes, which nobody can check before the
// --- operation runs, makes its sample's results NaN.

template <class T>
struct Losses {
  std::int64_t classes;
  T* out;
  const T* logits;
  const std::int64_t* labels;

  __device__ void set(std::int64_t row, T largest, double sum) const {
    const std::int64_t label = labels[row];
    out[row] = label < 0 || label >= classes
                   ? std::numeric_limits<T>::quiet_NaN()
                   : static_cast<T>(std::log(sum) - static_cast<double>(logits[row * classes + label] - largest));
  }
};

template <class T>
struct CrossEntropy {
  Losses<T> losses;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const T* const x = losses.logits + row * losses.classes;
    const T largest = largest_of<T>(team, losses.classes, [&](std::int64_t i) { return x[i]; });
    const double sum = sum_of(team, losses.classes, [&](std::int64_t i) { return std::exp(x[i] - largest); });
    team.each(1, [&](std::int64_t) { losses.set(row, largest, sum); });
  }
};

template <class T>
struct SetLoss {
  Losses<T> losses;
  const T* largest;
  __device__ void finish(std::int64_t row, double sum) const { losses.set(row, largest[row], sum); }
};

// The gradient of a sample's logits, dy (y - one at label), where y is softmax(x).
template <class T>
struct LossGradient {
  std::int64_t label;
  T dy;

  __device__ T operator()(std::int64_t i, T y) const { return dy * (i == label ? y - 1 : y); }
};
template <class T>
struct LossGradients {
  std::int64_t classes;
  const std::int64_t* labels;
  const T* dy;

  __device__ LossGradient<T> of(std::int64_t row) const {
    const std::int64_t label = labels[row];
    return {label, label < 0 || label >= classes ? std::numeric_limits<T>::quiet_NaN() : dy[row]};
  }
};

template <class T>
struct CrossEntropyGrad {
  T* dlogits;
  const T* logits;
  LossGradients<T> gradients;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t row) const {
    const std::int64_t classes = gradients.classes, first = row * classes;
    const LossGradient<T> gradient = gradients.of(row);
    OfLine<Softmax>()(team, classes, Line<T>{dlogits + first, 1}, Line<const T>{logits + first, 1});
    team.each(classes, [&](std::int64_t i) { dlogits[first + i] = gradient(i, dlogits[first + i]); });
  }
};

// Of each element of few long rows, over softmax(x).
template <class T>
struct EachLossGradient {
  T* dlogits;
  LossGradients<T> gradients;
  Divisor classes;

  __device__ void operator()(std::int64_t element) const {
    const Divided at = classes(element);
    dlogits[element] = gradients.of(at.quotient)(at.remainder, dlogits[element]);
  }
};

Lines rows_of(const KernelCall& call) { return {call.shape(1)[0], call.shape(1)[1], 1}; }
std::int64_t scratch_bytes_of_rows(const KernelCall& call) { return long_lines_scratch_bytes(rows_of(call)); }

void run_cross_entropy(const KernelCall& call, int) {
  const Lines rows = rows_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Losses<T> losses{rows.axis, call.data<T>(0), call.data<T>(1), call.data<std::int64_t>(2)};
    if (!are_few_and_long(rows)) return for_teams_of(rows.axis, call, rows.outer, CrossEntropy<T>{losses});
    T* const largest = numbers_of<T>(call, rows);
    sum_long_lines(call, rows, losses.logits, largest, SetLoss<T>{losses, largest});
  });
}

void run_cross_entropy_grad(const KernelCall& call, int) {
  const Lines rows = rows_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    T* const dlogits = call.data<T>(0);
    const T* const logits = call.data<T>(1);
    const LossGradients<T> gradients{rows.axis, call.data<std::int64_t>(2), call.data<T>(3)};
    if (!are_few_and_long(rows)) {
      return for_teams_of(rows.axis, call, rows.outer, CrossEntropyGrad<T>{dlogits, logits, gradients});
    }
    run_long_lines<Softmax>(call, rows, dlogits, logits);
    for_each(call, rows.outer * rows.axis, EachLossGradient<T>{dlogits, gradients, Divisor(rows.axis)});
  });
}

}  // namespace

constinit const Kernel kernels::softmax{.run = run_value<Softmax>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::softmax_grad{.run = run_grad<SoftmaxGrad>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::log_softmax{.run = run_value<LogSoftmax>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::log_softmax_grad{.run = run_grad<LogSoftmaxGrad>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::cross_entropy{.run = run_cross_entropy, .scratch_bytes = scratch_bytes_of_rows};
constinit const Kernel kernels::cross_entropy_grad{.run = run_cross_entropy_grad,
                                                   .scratch_bytes = scratch_bytes_of_rows};

}  // namespace asyncgrad::detail::cuda
