// Averages of weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::optim {

struct WeightAverageOptions {
  // A part of the average that stays at each update, in [0, 1): an exponential moving average (EMA). Without it all
  // updates count alike: stochastic weight averaging (Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima and
  // Better Generalization").
  std::optional<double> decay{};
};

// Averages of parameters beside them, for evaluation:
//
//   ag::optim::WeightAverage average(ag::nn::parameters(net), {.decay = 0.999});
//   for (...) { ...; sgd.step(); average.update(); }
//   average.swap();  // the network computes with the averages
//   evaluate(net);
//   average.swap();  // and trains on
//
// Running statistics, such as those of BatchNorm, are no parameters: those of an average are computed anew by the
// program. Its members, for a Checkpoint, are the averages and the number of updates; between two swap() members() throws
// Error. One thread at a time may use it. Calls but swap() are queued and may wait for room.
class WeightAverage {
 public:
  // Keeps handles of the parameters; the averages begin with their values. Throws Error without parameters and for a
  // decay outside of [0, 1).
  explicit WeightAverage(std::vector<Tensor> parameters, WeightAverageOptions options = {},
                         Location where = Location::current());

  // average = decay average + (1 - decay) parameter, or the mean of all values so far. An update that fails counts, too.
  // Throws Error between two swap().
  void update(Location where = Location::current());
  // Exchanges the values of the parameters and of the averages. Waits for them, and throws their errors before anything
  // has changed. Takes memory for a copy of all parameters meanwhile.
  void swap(Location where = Location::current());
  const std::vector<Tensor>& averages() const { return averages_; }
  std::int64_t updates() const { return updates_; }

  void members(nn::Members& m);

 private:
  void check_not_swapped(const char* what_for) const;

  std::vector<Tensor> parameters_, averages_;
  WeightAverageOptions options_;
  std::int64_t updates_ = 0;
  bool is_swapped_ = false;
};

}  // namespace asyncgrad::optim
