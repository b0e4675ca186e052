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

}  // namespace asyncgrad::optim
