// Every optimiser, for the tests of what all have in common. A new one has its row at the end of `kinds`, and, where
// PyTorch has it, rows in `as_in_pytorch` and in references.py.
#pragma once

#include <cmath>
#include <memory>
#include <ostream>
#include <vector>

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {

using Tensors = std::vector<Tensor>;

// The options that all kinds of optimisers have.
struct Options {
  double lr = 0.1;
  double weight_decay = 0;
  bool all_state = false;  // the optimiser keeps all the state that its kind can keep, such as a momentum
};
constexpr Options with_all{.lr = 0.1, .weight_decay = 0.1, .all_state = true};

inline SGDOptions sgd_options(const Options& options) {
  return {.lr = options.lr, .momentum = options.all_state ? 0.9 : 0, .weight_decay = options.weight_decay};
}
inline AdamOptions adam_options(const Options& options) {
  return {.lr = options.lr, .weight_decay = options.weight_decay};
}
inline AdamWOptions adam_w_options(const Options& options) {
  return {.lr = options.lr, .weight_decay = options.weight_decay};
}
inline AdagradOptions adagrad_options(const Options& options) {
  return {.lr = options.lr, .weight_decay = options.weight_decay, .initial_accumulator = options.all_state ? 0.1 : 0};
}
// The momentum makes its steps longer, so that it learns at a lower rate.
inline RMSpropOptions rmsprop_options(const Options& options) {
  if (!options.all_state) return {.lr = options.lr, .weight_decay = options.weight_decay};
  return {.lr = options.lr / 50, .weight_decay = options.weight_decay, .momentum = 0.5, .centered = true};
}

// All its steps are as long as its rate, so that it learns at a lower one, and with less momentum does not swing.
inline LionOptions lion_options(const Options& options) {
  if (!options.all_state) return {.lr = options.lr, .weight_decay = options.weight_decay};
  return {.lr = options.lr / 400, .beta1 = 0.25, .beta2 = 0.5, .weight_decay = options.weight_decay};
}

// Its usual steps are short at first, so that it learns with a larger epsilon.
inline AdadeltaOptions adadelta_options(const Options& options) {
  if (!options.all_state) return {.lr = options.lr, .weight_decay = options.weight_decay};
  return {.lr = 5 * options.lr, .rho = 0.8, .epsilon = 1e-3, .weight_decay = options.weight_decay};
}

template <class AnOptimizer, auto options_of>
std::unique_ptr<Optimizer> make(const Tensors& parameters, const Options& options) {
  return std::make_unique<AnOptimizer>(parameters, options_of(options));
}
template <class AnOptimizer, auto options_of>
void add_group(Optimizer& optimizer, const Tensors& parameters, const Options& options) {
  dynamic_cast<AnOptimizer&>(optimizer).add_group(parameters, options_of(options));
}

inline void sgd_formula(const Options& options, int, double gradient, Values& x) {
  const SGDOptions o = sgd_options(options);
  x[1] = o.momentum * x[1] + gradient + o.weight_decay * x[0];
  x[0] -= o.lr * x[1];
}
inline void adam_moments(const AdamOptions& o, int t, double gradient, Values& x) {
  x[1] = o.beta1 * x[1] + (1 - o.beta1) * gradient;
  x[2] = o.beta2 * x[2] + (1 - o.beta2) * gradient * gradient;
  x[0] -= o.lr * (x[1] / (1 - std::pow(o.beta1, t))) / (std::sqrt(x[2] / (1 - std::pow(o.beta2, t))) + o.epsilon);
}
inline void adam_formula(const Options& options, int t, double gradient, Values& x) {
  adam_moments(adam_options(options), t, gradient + options.weight_decay * x[0], x);
}
inline void adam_w_formula(const Options& options, int t, double gradient, Values& x) {
  x[0] -= options.lr * options.weight_decay * x[0];
  adam_moments(adam_options(options), t, gradient, x);
}
inline void adagrad_formula(const Options& options, int t, double gradient, Values& x) {
  const AdagradOptions o = adagrad_options(options);
  if (t == 1) x[1] = o.initial_accumulator;
  gradient += o.weight_decay * x[0];
  x[1] += gradient * gradient;
  x[0] -= o.lr * gradient / (std::sqrt(x[1]) + o.epsilon);
}
inline void rmsprop_formula(const Options& options, int, double gradient, Values& x) {
  const RMSpropOptions o = rmsprop_options(options);
  gradient += o.weight_decay * x[0];
  x[1] = o.alpha * x[1] + (1 - o.alpha) * gradient * gradient;
  x[2] = o.alpha * x[2] + (1 - o.alpha) * gradient;
  x[3] = o.momentum * x[3] + gradient / (std::sqrt(x[1] - (o.centered ? x[2] * x[2] : 0)) + o.epsilon);
  x[0] -= o.lr * x[3];
}

inline void lion_formula(const Options& options, int, double gradient, Values& x) {
  const LionOptions o = lion_options(options);
  const double direction = o.beta1 * x[1] + (1 - o.beta1) * gradient;
  x[0] -= o.lr * ((direction > 0 ? 1 : -1) + o.weight_decay * x[0]);
  x[1] = o.beta2 * x[1] + (1 - o.beta2) * gradient;
}

inline void adadelta_formula(const Options& options, int, double gradient, Values& x) {
  const AdadeltaOptions o = adadelta_options(options);
  gradient += o.weight_decay * x[0];
  x[1] = o.rho * x[1] + (1 - o.rho) * gradient * gradient;
  const double step = std::sqrt(x[2] + o.epsilon) / std::sqrt(x[1] + o.epsilon) * gradient;
  x[2] = o.rho * x[2] + (1 - o.rho) * step * step;
  x[0] -= o.lr * step;
}

inline double by_gradient(double lr, double gradient) { return lr * gradient; }
inline double by_sign(double lr, double gradient) { return std::copysign(lr, gradient); }
inline double ten_times_by_sign(double lr, double gradient) { return std::copysign(10 * lr, gradient); }
// The mean of squares is a tenth of the gradient's square, beside which epsilon is nothing.
inline double by_sign_and_epsilon(double lr, double gradient) { return std::copysign(lr * std::sqrt(1e-5), gradient); }

struct Kind {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const Tensors&, const Options&);
  void (*add_group)(Optimizer&, const Tensors&, const Options&);
  double tolerance;     // how near the values are to exact ones
  int steps_of_a_line;  // how many steps it takes to learn a line
  // How far the first step moves a parameter down, without weight decay and the state that may be left out.
  double (*first_move)(double lr, double gradient);
  double second_move;  // how far the second step moves it, in learning rates, if both gradients are 1
  // The formula, written plainly: step t = 1, 2, … of an element x[0], beside which x[1], … are the state, 0 at first.
  void (*formula)(const Options& options, int t, double gradient, Values& x);

  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};
inline const Kind kinds[] = {
    {"SGD", make<SGD, sgd_options>, add_group<SGD, sgd_options>, 1e-12, 200, by_gradient, 1, sgd_formula},
    {"Adam", make<Adam, adam_options>, add_group<Adam, adam_options>, 1e-7, 400, by_sign, 1, adam_formula},
    {"AdamW", make<AdamW, adam_w_options>, add_group<AdamW, adam_w_options>, 1e-7, 400, by_sign, 1, adam_w_formula},
    {"Adagrad", make<Adagrad, adagrad_options>, add_group<Adagrad, adagrad_options>, 1e-7, 4000, by_sign,
     1 / std::sqrt(2), adagrad_formula},
    // Its mean of squares is 0.01 after the first gradient of 1, and 0.0199 after the second.
    {"RMSprop", make<RMSprop, rmsprop_options>, add_group<RMSprop, rmsprop_options>, 1e-5, 2000, ten_times_by_sign,
     1 / std::sqrt(0.0199), rmsprop_formula},
    {"Lion", make<Lion, lion_options>, add_group<Lion, lion_options>, 1e-12, 20000, by_sign, 1, lion_formula},
    // Its mean of squares is 0.19 after the second gradient of 1, beside a mean of squared steps of 1e-6.
    {"Adadelta", make<Adadelta, adadelta_options>, add_group<Adadelta, adadelta_options>, 1e-7, 1000,
     by_sign_and_epsilon, std::sqrt(2e-6 / 0.19), adadelta_formula},
};

template <class AnOptimizer, class SomeOptions>
std::unique_ptr<Optimizer> made(const Tensors& parameters, const SomeOptions& options) {
  return std::make_unique<AnOptimizer>(parameters, options);
}
// Optimisers whose values after some steps references.py has under this name.
struct PyTorchCase {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const Tensors& parameters);
};
inline const PyTorchCase as_in_pytorch[] = {
    {"sgd", [](const Tensors& p) { return made<SGD>(p, SGDOptions{.lr = 0.1, .weight_decay = 0.1}); }},
    {"sgd_momentum",
     [](const Tensors& p) { return made<SGD>(p, SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}); }},
    {"sgd_nesterov",
     [](const Tensors& p) {
       return made<SGD>(p, SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
     }},
    {"adam", [](const Tensors& p) { return made<Adam>(p, AdamOptions{.lr = 0.1, .weight_decay = 0.1}); }},
    {"adam_w", [](const Tensors& p) { return made<AdamW>(p, AdamWOptions{.lr = 0.1}); }},
    {"adagrad", [](const Tensors& p) { return made<Adagrad>(p, AdagradOptions{.lr = 0.1}); }},
    {"adagrad_all",
     [](const Tensors& p) {
       return made<Adagrad>(
           p, AdagradOptions{.lr = 0.1, .epsilon = 0.01, .weight_decay = 0.1, .initial_accumulator = 0.5});
     }},
    {"adadelta", [](const Tensors& p) { return made<Adadelta>(p, AdadeltaOptions{}); }},
    {"adadelta_all",
     [](const Tensors& p) {
       return made<Adadelta>(p, AdadeltaOptions{.lr = 0.5, .rho = 0.8, .epsilon = 0.01, .weight_decay = 0.1});
     }},
    {"rmsprop", [](const Tensors& p) { return made<RMSprop>(p, RMSpropOptions{.lr = 0.1}); }},
    {"rmsprop_decay",
     [](const Tensors& p) {
       return made<RMSprop>(p, RMSpropOptions{.lr = 0.1, .alpha = 0.8, .epsilon = 0.01, .weight_decay = 0.1});
     }},
    {"rmsprop_centered",
     [](const Tensors& p) { return made<RMSprop>(p, RMSpropOptions{.lr = 0.1, .centered = true}); }},
    {"rmsprop_momentum", [](const Tensors& p) { return made<RMSprop>(p, RMSpropOptions{.lr = 0.1, .momentum = 0.9}); }},
    {"rmsprop_all",
     [](const Tensors& p) {
       return made<RMSprop>(
           p, RMSpropOptions{
                  .lr = 0.1, .alpha = 0.8, .epsilon = 0.01, .weight_decay = 0.1, .momentum = 0.9, .centered = true});
     }},
};

}  // namespace asyncgrad::optim
