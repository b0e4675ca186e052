// The loops of connectionist temporal classification over the states of a step. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// Logarithms of sums of probabilities, one for each state, with two of the probability 0 before them. They are computed
// by whole vectors: there is room for states_with_room(states), and those that are too many have any value.
struct CtcStates {
  // sums[s] = log(e^before[s] + e^before[s - 1] + e^(before[s - 2] + skip[s])); skip is 0, or that of the probability 0.
  void (*advance)(const double* before, const double* skip, double* sums, std::int64_t states);
  // x[s] = e^(x[s] + shift)
  void (*exponentials)(double* x, double shift, std::int64_t states);
};

constexpr std::int64_t states_with_room(std::int64_t states) { return rounded_up(states, 8); }

// The functions for the best instruction set that this processor has.
const CtcStates& ctc_states();

}  // namespace asyncgrad::detail
