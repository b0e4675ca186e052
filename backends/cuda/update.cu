// One step of an optimiser, of a whole group of parameters: a few launches for many of them, in which a block has a
// part of one parameter.
#include <cmath>

#include "asyncgrad/backends/adam_numbers.h"
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/for_each.cuh"

namespace asyncgrad::detail::cuda {

namespace {

constexpr std::int64_t part_elements = 4096;
static_assert(adam_elements_per_count % part_elements == 0, "a part has one count");
constexpr int most_parameters = 64;  // that fit into the 4 KiB that a launch passes on

// Some parameters of a group, cut into parts: the j-th array of the i-th one is arrays[j][i].
template <class T, int array_count>
struct Parameters {
  T* arrays[array_count][most_parameters];
  std::int64_t numel[most_parameters];
  std::int64_t first_part[most_parameters + 1];
  int count;

  __host__ __device__ std::int64_t parts() const { return first_part[count]; }
  // The parameter that a part belongs to.
  __host__ __device__ int owner(std::int64_t part) const {
    int low = 0, high = count;  // first_part[low] <= part < first_part[high]
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first_part[middle] <= part ? low : high) = middle;
    }
    return low;
  }
};

// Calls launch(parameters, the first one's number) for the `count` parameters of a call, as many at a time as fit.
// Array j of parameter i is operand lists[j] count + i.
template <class T, int array_count, class Launch>
void each_launch(const KernelCall& call, int count, const int (&lists)[array_count], Launch launch) {
  for (int first = 0; first < count; first += most_parameters) {
    Parameters<T, array_count> parameters{};
    for (int i = first; i < count && i < first + most_parameters; ++i) {
      const int k = parameters.count++;
      for (int j = 0; j < array_count; ++j) parameters.arrays[j][k] = call.data<T>(lists[j] * count + i);
      parameters.numel[k] = call.numel(i);
      parameters.first_part[k + 1] =
          parameters.first_part[k] + (parameters.numel[k] + part_elements - 1) / part_elements;
    }
    launch(parameters, first);
  }
}

// The formula that `update` has for a part, on the arrays at each of its elements.
template <class Update, class T, int array_count>
struct UpdatePart {
  Update update;
  Parameters<T, array_count> parameters;

  template <class Team>
  __host__ __device__ void operator()(Team team, std::int64_t part) const {
    const int k = parameters.owner(part);
    const std::int64_t begin = (part - parameters.first_part[k]) * part_elements;
    const std::int64_t rest = parameters.numel[k] - begin;
    const auto formula = update.of(k, begin);
    team.each(rest < part_elements ? rest : part_elements, [&](std::int64_t i) {
      T* x[array_count];
      for (int j = 0; j < array_count; ++j) x[j] = parameters.arrays[j][k] + begin + i;
      formula(x);
    });
  }
};

template <class Update, class T, int array_count>
void launch_update(const KernelCall& call, const Update& update, const Parameters<T, array_count>& parameters) {
  static_assert(sizeof(UpdatePart<Update, T, array_count>) < 4000);
  for_teams<block_threads>(call, parameters.parts(), UpdatePart<Update, T, array_count>{update, parameters});
}

// --- SGD

template <class T>
struct SgdNumbers {
  T lr, momentum, weight_decay;
};

// One formula for all parts.
template <class Formula>
struct Everywhere {
  Formula formula;
  __host__ __device__ const Formula& of(int, std::int64_t) const { return formula; }
};

// Arrays: p, g. g' = g + weight_decay p;   p -= lr g'
template <class T>
struct Sgd {
  SgdNumbers<T> a;
  __host__ __device__ void operator()(T* const (&x)[2]) const {
    T& p = *x[0];
    const T slope = *x[1] + a.weight_decay * p;
    p = p - a.lr * slope;
  }
};

// Arrays: p, v, g. v = momentum v + g';   p -= lr v, or lr (g' + momentum v)
template <class T>
struct SgdMomentum {
  SgdNumbers<T> a;
  bool nesterov;
  __host__ __device__ void operator()(T* const (&x)[3]) const {
    T &p = *x[0], &v = *x[1];
    const T slope = *x[2] + a.weight_decay * p;
    v = a.momentum * v + slope;
    p = p - a.lr * (nesterov ? slope + a.momentum * v : v);
  }
};

void run_sgd(const KernelCall& call, int) {
  const auto& a = call.attributes<SgdAttributes>();
  if (a.count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const SgdNumbers<T> numbers{static_cast<T>(a.lr), static_cast<T>(a.momentum), static_cast<T>(a.weight_decay)};
    if (a.momentum == 0) {
      each_launch<T, 2>(call, a.count, {0, 1}, [&](const auto& parameters, int) {
        launch_update(call, Everywhere<Sgd<T>>{{numbers}}, parameters);
      });
    } else {
      each_launch<T, 3>(call, a.count, {0, 1, 2}, [&](const auto& parameters, int) {
        launch_update(call, Everywhere<SgdMomentum<T>>{{numbers, a.nesterov}}, parameters);
      });
    }
  });
}

// --- Adagrad and RMSprop

// Arrays: p, s, g. s += g' g';   p -= lr g' / (sqrt(s) + epsilon)
template <class T>
struct Adagrad {
  T lr, epsilon, weight_decay;
  __host__ __device__ void operator()(T* const (&x)[3]) const {
    T &p = *x[0], &s = *x[1];
    const T slope = *x[2] + weight_decay * p;
    s = s + slope * slope;
    p = p - (lr * slope) / (std::sqrt(s) + epsilon);
  }
};

void run_adagrad(const KernelCall& call, int) {
  const auto& a = call.attributes<AdagradAttributes>();
  if (a.count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const Adagrad<T> formula{static_cast<T>(a.lr), static_cast<T>(a.epsilon), static_cast<T>(a.weight_decay)};
    each_launch<T, 3>(call, a.count, {0, 1, 2}, [&](const auto& parameters, int) {
      launch_update(call, Everywhere<Adagrad<T>>{formula}, parameters);
    });
  });
}

// Arrays: p, v, then m if it is centered, then b with momentum, then g; see update_loops.h of the CPU.
template <class T, bool centered, bool has_momentum>
struct Rmsprop {
  static constexpr int arrays = 3 + (centered ? 1 : 0) + (has_momentum ? 1 : 0);
  T lr, alpha, rest, epsilon, weight_decay, momentum;
  __host__ __device__ void operator()(T* const (&x)[arrays]) const {
    T &p = *x[0], &v = *x[1];
    const T slope = *x[arrays - 1] + weight_decay * p;
    v = alpha * v + (rest * slope) * slope;
    T variance = v;
    if constexpr (centered) {
      T& m = *x[2];
      m = alpha * m + rest * slope;
      variance = v - m * m;
      if (variance < 0) variance = 0;
    }
    T direction = slope / (std::sqrt(variance) + epsilon);
    if constexpr (has_momentum) {
      T& b = *x[arrays - 2];
      b = momentum * b + direction;
      direction = b;
    }
    p = p - lr * direction;
  }
};

template <class T, bool centered, bool has_momentum>
void launch_rmsprop(const KernelCall& call) {
  using Formula = Rmsprop<T, centered, has_momentum>;
  const auto& a = call.attributes<RmspropAttributes>();
  const Formula formula{static_cast<T>(a.lr),      static_cast<T>(a.alpha),        static_cast<T>(1 - a.alpha),
                        static_cast<T>(a.epsilon), static_cast<T>(a.weight_decay), static_cast<T>(a.momentum)};
  int lists[Formula::arrays];
  for (int i = 0; i < Formula::arrays; ++i) lists[i] = i;
  each_launch<T, Formula::arrays>(call, a.count, lists, [&](const auto& parameters, int) {
    launch_update(call, Everywhere<Formula>{formula}, parameters);
  });
}

void run_rmsprop(const KernelCall& call, int) {
  const auto& a = call.attributes<RmspropAttributes>();
  if (a.count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    if (a.centered) {
      a.momentum != 0 ? launch_rmsprop<T, true, true>(call) : launch_rmsprop<T, true, false>(call);
    } else {
      a.momentum != 0 ? launch_rmsprop<T, false, true>(call) : launch_rmsprop<T, false, false>(call);
    }
  });
}

// --- Adam: first the counts go up and the numbers of each are worked out, as powers cost more than an element's step.

// Arrays: p, m, v, g.
template <class T>
struct Adam : AdamNumbers<T> {
  __host__ __device__ void operator()(T* const (&x)[4]) const {
    T &p = *x[0], &m = *x[1], &v = *x[2];
    const T slope = *x[3] + this->decay * p;
    m = this->beta1 * m + this->rest1 * slope;
    v = this->beta2 * v + (this->rest2 * slope) * slope;
    const T root = std::sqrt(v) * this->inverse_root + this->epsilon;
    p = this->keep * p - (this->step_size * m) / root;
  }
};

// The counts of some parameters, laid one behind another.
struct Counts {
  std::int64_t* steps[most_parameters];
  std::int64_t first[most_parameters + 1];
  int count;
};

template <class T>
struct CountStep {
  Counts counts;
  AdamAttributes attributes;
  Adam<T>* formulas;

  __host__ __device__ void operator()(std::int64_t i) const {
    int k = 0;
    while (counts.first[k + 1] <= i) ++k;
    formulas[i] = {adam_numbers<T>(attributes, ++counts.steps[k][i - counts.first[k]])};
  }
};

template <class T>
struct FormulaOfCount {
  const Adam<T>* formulas;
  std::int64_t first[most_parameters];

  __host__ __device__ Adam<T> of(int k, std::int64_t begin) const {
    return formulas[first[k] + begin / adam_elements_per_count];
  }
};

// One after another, launches may have the same scratch.
std::int64_t adam_scratch_bytes(const KernelCall& call) {
  const int count = call.attributes<AdamAttributes>().count;
  std::int64_t counts = 0;
  for (int i = 0; i < count; ++i) counts += adam_counts(call.numel(i));
  return counts * static_cast<std::int64_t>(sizeof(Adam<double>));
}

void run_adam(const KernelCall& call, int) {
  const auto& a = call.attributes<AdamAttributes>();
  if (a.count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    auto* const formulas = reinterpret_cast<Adam<T>*>(call.scratch);
    each_launch<T, 4>(call, a.count, {0, 1, 2, 4}, [&](const auto& parameters, int first) {
      Counts counts{};
      FormulaOfCount<T> update{formulas, {}};
      for (int k = 0; k < parameters.count; ++k) {
        counts.steps[k] = call.data<std::int64_t>(3 * a.count + first + k);
        update.first[k] = counts.first[k];
        counts.first[k + 1] = counts.first[k] + adam_counts(parameters.numel[k]);
      }
      counts.count = parameters.count;
      for_each(call, counts.first[counts.count], CountStep<T>{counts, a, formulas});
      launch_update(call, update, parameters);
    });
  });
}

}  // namespace

void add_update_kernels(Backend& backend) {
  kernel_of(backend, Op::sgd) = {.run = run_sgd};
  kernel_of(backend, Op::adam) = {.run = run_adam, .scratch_bytes = adam_scratch_bytes};
  kernel_of(backend, Op::adagrad) = {.run = run_adagrad};
  kernel_of(backend, Op::rmsprop) = {.run = run_rmsprop};
}

}  // namespace asyncgrad::detail::cuda
