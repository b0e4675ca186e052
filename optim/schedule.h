// Learning rates that change from step to step.
//
//   ag::optim::SGD sgd(ag::nn::parameters(net), {.lr = 0.1});
//   ag::optim::Schedule schedule(sgd, ag::optim::warm_up(100, ag::optim::cosine(1000)));
//   for (...) { ...; sgd.step(); schedule.step(); }
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "asyncgrad/optim/optimizer.h"

namespace asyncgrad::optim {

// The factor of a learning rate at step t = 0, 1, …. Any function will do.
using Factor = std::function<double(std::int64_t step)>;

// factor^floor(t / every). Throws Error if `every` is less than 1, or if `factor` is negative or not finite.
Factor steps(std::int64_t every, double factor);
// min_factor + (1 - min_factor) (1 + cos(pi t / length)) / 2, and `min_factor` from t = length on (Loshchilov and
// Hutter 2017, "SGDR", without restarts). Throws Error if `length` is less than 1, or if `min_factor` is negative or
// not finite.
Factor cosine(std::int64_t length, double min_factor = 0);
// (t + 1) / length, and then(t - length), or 1, from t = length on. Throws Error if `length` is less than 1, or for a
// `then` that is empty.
Factor warm_up(std::int64_t length, Factor then);
Factor warm_up(std::int64_t length);

struct OneCycleOptions {
  double rise = 0.3;                  // the part of the length in which the factor rises, in (0, 1)
  double first_factor = 1.0 / 25;     // at t = 0
  double last_factor = 1.0 / 250000;  // at t = length - 1 and from there on
};
// Rises from the first factor to 1 and falls to the last one, each along half a period of a cosine (Smith and Topin 2018,
// "Super-Convergence", in the form of PyTorch's OneCycleLR with the learning rate as its max_lr: it rises until
// t = rise * length - 1, and where that is not above 0 it begins near 1). Throws Error if `length`
// is less than 2, and for options that are not finite or out of range.
Factor one_cycle(std::int64_t length, OneCycleOptions options = {});

// Sets the learning rate of each group to the one that it had at first times factor(t), where t is the number of steps
// so far. A rate that the program sets meanwhile holds until the next step; a group that is added meanwhile begins with
// its own. Refers to the optimiser, which must live longer. Its members, for a Checkpoint, are t and the first rates.
// One thread at a time may use it. Nothing here blocks.
class Schedule {
 public:
  // Sets the rates for t = 0. Throws Error for a factor that is empty or gives a number that is no learning rate.
  Schedule(Optimizer& optimizer, Factor factor);

  // Call this once after each step of the optimiser. Throws Error for a factor that gives a number that is no learning
  // rate, and then has counted no step.
  void step();
  std::int64_t count() const { return count_; }  // t

  void members(nn::Members& m);

 private:
  void set(std::int64_t count);
  void add_new_groups();

  Optimizer* optimizer_;
  Factor factor_;
  std::int64_t count_ = 0;
  std::vector<double> first_rates_;  // of the groups
};

struct PlateauOptions {
  double factor = 0.1;         // by which the rates are multiplied, in [0, 1)
  std::int64_t patience = 10;  // so many values in turn may be no better than the best
  double threshold = 1e-4;     // a value is better if it is lower by this part of the best
  bool larger_is_better = false;
  double min_lr = 0;
};
// Lowers the learning rates where a measured value, such as a validation loss, stops falling (PyTorch's
// ReduceLROnPlateau). Its members, for a Checkpoint, are the best value and the count of worse ones. One thread at a time
// may use it. Nothing here blocks: the program reads the value.
class Plateau {
 public:
  // Refers to the optimiser, which must live longer. Throws Error for options that make no sense.
  explicit Plateau(Optimizer& optimizer, PlateauOptions options = {}, Location where = Location::current());

  // Call this with each new value. Returns whether the rates were lowered. NaN counts as no better.
  bool step(double value);

  void members(nn::Members& m);

 private:
  bool is_better(double value) const;

  Optimizer* optimizer_;
  PlateauOptions options_;
  double best_;
  std::int64_t worse_ = 0;
};

}  // namespace asyncgrad::optim
