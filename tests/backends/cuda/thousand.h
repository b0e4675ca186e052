// A thousand elements on the first GPU.
#pragma once

#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

inline const Device gpu = "cuda:0";

inline Tensor ones_there() { return full({1000}, 1, {.device = gpu}); }
// The values if all of them are `value`.
inline std::vector<float> all(double value) { return std::vector<float>(1000, static_cast<float>(value)); }

// x = (x + 1) factor, as a call of the graph.
inline void add_one_and_multiply(LaunchGraph& graph, Tensor& x, double factor) {
  graph([&] {
    x += 1.0;
    x *= factor;
  });
}

}  // namespace asyncgrad::tests
