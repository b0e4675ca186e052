// The table of update rules: how each optimiser changes a parameter by its gradient. Every backend and every test goes
// through it, as through the table of formulas.
//
// A row is a type with
//   name          what errors and profiles show; rules of one optimiser share it
//   states        the names of the tensors beside each parameter, in the optimiser's list of members
//   counts_steps  whether the steps so far are counted, in "steps" behind the other states
//   Options       what the optimiser passes: numbers, of which lr is the first
//   numbers       what the formula reads, computed in double once for many elements; `step` counts from 1
//   apply         the formula: from the gradient, the parameter and its states their new values, in this order
// The formula is written over the Math of formulas.h.
//
// No backend has to know a rule. CONTRIBUTING.md says how to add one.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "asyncgrad/core/backend/formulas.h"
#include "asyncgrad/core/backend/rows.h"

namespace asyncgrad::rules {

// The base of the rows: Rule<counts steps>.
template <bool CountsSteps = false>
struct Rule {
  static constexpr bool counts_steps = CountsSteps;
};

// The gradient of a parameter p if weight_decay p² / 2 is added to the loss.
constexpr auto decayed(const auto& m, auto g, auto weight_decay, auto p) { return m.add(g, m.mul(weight_decay, p)); }

// --- SGD: p -= lr v, where v = g, or with momentum v = momentum v + g, or with nesterov g + momentum v of that

struct SgdOptions {
  double lr, momentum, weight_decay;
};
struct Sgd : Rule<> {
  static constexpr const char* name = "sgd";
  static constexpr std::array<const char*, 0> states{};
  using Options = SgdOptions;
  static constexpr auto numbers(const Options& o, std::int64_t) { return std::array{o.lr, o.weight_decay}; }
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p) {
    const auto [lr, weight_decay] = numbers;
    return std::tuple{m.sub(p, m.mul(lr, decayed(m, g, weight_decay, p)))};
  }
};
template <bool nesterov>
struct SgdWithMomentum : Rule<> {
  static constexpr const char* name = "sgd";
  static constexpr std::array states{"velocities"};
  using Options = SgdOptions;
  static constexpr auto numbers(const Options& o, std::int64_t) { return std::array{o.lr, o.momentum, o.weight_decay}; }
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto v) {
    const auto [lr, momentum, weight_decay] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto velocity = m.add(m.mul(momentum, v), gradient);
    if constexpr (nesterov) {
      return std::tuple{m.sub(p, m.mul(lr, m.add(gradient, m.mul(momentum, velocity)))), velocity};
    } else {
      return std::tuple{m.sub(p, m.mul(lr, velocity)), velocity};
    }
  }
};
using SgdMomentum = SgdWithMomentum<false>;
using SgdNesterov = SgdWithMomentum<true>;

// --- Adam and AdamW, which has a decay apart from the gradient

struct Adam : Rule<true> {
  static constexpr const char* name = "adam";
  static constexpr std::array states{"first_moments", "second_moments"};
  struct Options {
    double lr, beta1, beta2, epsilon, weight_decay, decay_apart;
  };
  // step_size is lr / (1 - beta1^step), inverse_root 1 / sqrt(1 - beta2^step).
  static constexpr auto numbers(const Options& o, std::int64_t step) {
    const auto t = static_cast<double>(step);
    const double step_size = o.lr / (1 - std::pow(o.beta1, t)), inverse_root = 1 / std::sqrt(1 - std::pow(o.beta2, t));
    return std::array{step_size,   inverse_root,   o.beta1,
                      1 - o.beta1, o.beta2,        1 - o.beta2,
                      o.epsilon,   o.weight_decay, 1 - o.lr * o.decay_apart};
  }
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto first, auto second) {
    const auto [step_size, inverse_root, beta1, rest1, beta2, rest2, epsilon, weight_decay, kept] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto mean = m.add(m.mul(beta1, first), m.mul(rest1, gradient));
    const auto square = m.add(m.mul(beta2, second), m.mul(m.mul(rest2, gradient), gradient));
    const auto root = m.add(m.mul(m.sqrt(square), inverse_root), epsilon);
    return std::tuple{m.sub(m.mul(kept, p), m.div(m.mul(step_size, mean), root)), mean, square};
  }
};

// --- Lion

struct Lion : Rule<> {
  static constexpr const char* name = "lion";
  static constexpr std::array states{"moments"};
  struct Options {
    double lr, beta1, beta2, weight_decay;
  };
  static constexpr auto numbers(const Options& o, std::int64_t) {
    return std::array{o.lr, o.beta1, 1 - o.beta1, o.beta2, 1 - o.beta2, 1 - o.lr * o.weight_decay};
  }
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto moment) {
    const auto [lr, beta1, rest1, beta2, rest2, kept] = numbers;
    const auto direction = formulas::Sign::apply(m, m.add(m.mul(beta1, moment), m.mul(rest1, g)));
    return std::tuple{m.sub(m.mul(kept, p), m.mul(lr, direction)), m.add(m.mul(beta2, moment), m.mul(rest2, g))};
  }
};

// --- Adagrad

struct Adagrad : Rule<> {
  static constexpr const char* name = "adagrad";
  static constexpr std::array states{"sums"};
  struct Options {
    double lr, epsilon, weight_decay;
  };
  static constexpr auto numbers(const Options& o, std::int64_t) { return std::array{o.lr, o.epsilon, o.weight_decay}; }
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto sum) {
    const auto [lr, epsilon, weight_decay] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto squares = m.add(sum, m.mul(gradient, gradient));
    return std::tuple{m.sub(p, m.div(m.mul(lr, gradient), m.add(m.sqrt(squares), epsilon))), squares};
  }
};

// --- RMSprop

struct RmspropRule : Rule<> {
  static constexpr const char* name = "rmsprop";
  struct Options {
    double lr, alpha, epsilon, weight_decay, momentum;
  };
  static constexpr auto numbers(const Options& o, std::int64_t) {
    return std::array{o.lr, o.alpha, 1 - o.alpha, o.epsilon, o.weight_decay, o.momentum};
  }
  // The running means of the squared gradient and of the gradient after this step.
  static constexpr auto mean_square(const auto& m, const auto& numbers, auto square, auto gradient) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    return m.add(m.mul(alpha, square), m.mul(m.mul(rest, gradient), gradient));
  }
  static constexpr auto mean(const auto& m, const auto& numbers, auto mean, auto gradient) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    return m.add(m.mul(alpha, mean), m.mul(rest, gradient));
  }
  // Rounding may make it negative, which counts as 0; NaN stays NaN.
  static constexpr auto variance(const auto& m, auto square, auto mean) {
    const auto difference = m.sub(square, m.mul(mean, mean));
    return m.select(m.less(difference, m.set(0)), m.set(0), difference);
  }
  static constexpr auto direction(const auto& m, const auto& numbers, auto gradient, auto variance) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    return m.div(gradient, m.add(m.sqrt(variance), epsilon));
  }
};
struct Rmsprop : RmspropRule {
  static constexpr std::array states{"mean_squares"};
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto v) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto square = mean_square(m, numbers, v, gradient);
    return std::tuple{m.sub(p, m.mul(lr, direction(m, numbers, gradient, square))), square};
  }
};
struct RmspropCentered : RmspropRule {
  static constexpr std::array states{"mean_squares", "means"};
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto v, auto center) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto square = mean_square(m, numbers, v, gradient);
    const auto moved = mean(m, numbers, center, gradient);
    return std::tuple{m.sub(p, m.mul(lr, direction(m, numbers, gradient, variance(m, square, moved)))), square, moved};
  }
};
struct RmspropMomentum : RmspropRule {
  static constexpr std::array states{"mean_squares", "velocities"};
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto v, auto b) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto square = mean_square(m, numbers, v, gradient);
    const auto velocity = m.add(m.mul(momentum, b), direction(m, numbers, gradient, square));
    return std::tuple{m.sub(p, m.mul(lr, velocity)), square, velocity};
  }
};
struct RmspropCenteredMomentum : RmspropRule {
  static constexpr std::array states{"mean_squares", "means", "velocities"};
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto v, auto center, auto b) {
    const auto [lr, alpha, rest, epsilon, weight_decay, momentum] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto square = mean_square(m, numbers, v, gradient);
    const auto moved = mean(m, numbers, center, gradient);
    const auto step = direction(m, numbers, gradient, variance(m, square, moved));
    const auto velocity = m.add(m.mul(momentum, b), step);
    return std::tuple{m.sub(p, m.mul(lr, velocity)), square, moved, velocity};
  }
};

// --- Adadelta

struct Adadelta : Rule<> {
  static constexpr const char* name = "adadelta";
  static constexpr std::array states{"mean_squares", "mean_steps"};
  struct Options {
    double lr, rho, epsilon, weight_decay;
  };
  static constexpr auto numbers(const Options& o, std::int64_t) {
    return std::array{o.lr, o.rho, 1 - o.rho, o.epsilon, o.weight_decay};
  }
  static constexpr auto apply(const auto& m, const auto& numbers, auto g, auto p, auto square, auto step) {
    const auto [lr, rho, rest, epsilon, weight_decay] = numbers;
    const auto gradient = decayed(m, g, weight_decay, p);
    const auto squares = m.add(m.mul(rho, square), m.mul(m.mul(rest, gradient), gradient));
    const auto direction = m.mul(m.div(m.sqrt(m.add(step, epsilon)), m.sqrt(m.add(squares, epsilon))), gradient);
    const auto steps = m.add(m.mul(rho, step), m.mul(m.mul(rest, direction), direction));
    return std::tuple{m.sub(p, m.mul(lr, direction)), squares, steps};
  }
};

// Every row: a rule's id is its place here.
using Rules = std::tuple<Sgd, SgdMomentum, SgdNesterov, Adam, Lion, Adagrad, Rmsprop, RmspropCentered, RmspropMomentum,
                         RmspropCenteredMomentum, Adadelta>;
inline constexpr int count = std::tuple_size_v<Rules>;
template <class Rule>
constexpr int id() {
  return detail::row_number<Rule, Rules>;
}

}  // namespace asyncgrad::rules
