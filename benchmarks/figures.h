// The figures of paired measurements.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace asyncgrad::benchmarks {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
// The median of a non-empty list: the mean of the two in the middle if their number is even.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// Two things measured in turn, in one program.
class Pairs {
 public:
  void add(double numerator_s, double denominator_s) {
    numerators_.push_back(numerator_s);
    denominators_.push_back(denominator_s);
    ratios_.push_back(numerator_s / denominator_s);
  }
  double ratio_median() const { return median(ratios_); }
  double ratio_min() const { return *std::min_element(ratios_.begin(), ratios_.end()); }
  double ratio_max() const { return *std::max_element(ratios_.begin(), ratios_.end()); }
  double numerator_ms() const { return median(numerators_) * 1e3; }
  double denominator_ms() const { return median(denominators_) * 1e3; }
  double count() const { return static_cast<double>(ratios_.size()); }

 private:
  std::vector<double> numerators_, denominators_, ratios_;
};

}  // namespace asyncgrad::benchmarks
