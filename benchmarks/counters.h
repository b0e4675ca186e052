// The figures that benchmarks report beside their time.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "figures.h"

namespace asyncgrad::benchmarks {

// Ratios, and the medians of both sides under their names: "step" is reported as step_ms.
inline void report(benchmark::State& state, const Pairs& pairs, const std::string& numerator,
                   const std::string& denominator) {
  state.counters["ratio_median"] = pairs.ratio_median();
  state.counters["ratio_min"] = pairs.ratio_min();
  state.counters["ratio_max"] = pairs.ratio_max();
  state.counters["pairs"] = pairs.count();
  state.counters[numerator + "_ms"] = pairs.numerator_ms();
  state.counters[denominator + "_ms"] = pairs.denominator_ms();
}

// The medians of figures, by name.
class Medians {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  void clear() { values_.clear(); }
  void report(benchmark::State& state) const {
    for (const auto& [name, values] : values_) state.counters[name] = median(values);
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace asyncgrad::benchmarks
