#include "asyncgrad/experiment/results.h"

#include <fmt/format.h>

#include <algorithm>

namespace asyncgrad::experiment {

namespace {

std::optional<double> median_if_any(std::vector<double> values) {
  return values.empty() ? std::nullopt : std::optional<double>(median(std::move(values)));
}

std::vector<const Measurement*> repetitions(const Measurements& runs, const std::string& name) {
  std::vector<const Measurement*> found;
  for (const Measurement& run : runs) {
    if (run.name == name) found.push_back(&run);
  }
  return found;
}

// Adds a / b, if both were measured and b is not 0.
void add_ratio(std::vector<double>& ratios, std::optional<double> a, std::optional<double> b) {
  if (a && b && *b != 0) ratios.push_back(*a / *b);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<std::string> names_of(const Measurements& runs) {
  std::vector<std::string> names;
  for (const Measurement& run : runs) {
    if (std::find(names.begin(), names.end(), run.name) == names.end()) names.push_back(run.name);
  }
  return names;
}

bool has(const Measurements& runs, const std::string& name) { return !repetitions(runs, name).empty(); }

std::optional<double> median_of(const Measurements& runs, const std::string& name, Figure figure) {
  std::vector<double> values;
  for (const Measurement* run : repetitions(runs, name)) {
    if (const std::optional<double> value = figure(*run)) values.push_back(*value);
  }
  return median_if_any(std::move(values));
}

std::optional<double> ratio(const Measurements& runs, const std::string& name, const std::string& other,
                            Figure figure) {
  std::vector<double> ratios;
  for (const Measurement* above : repetitions(runs, name)) {
    for (const Measurement* below : repetitions(runs, other)) {
      if (above->repetition == below->repetition) add_ratio(ratios, figure(*above), figure(*below));
    }
  }
  return median_if_any(std::move(ratios));
}

std::optional<double> share(const Measurements& runs, const std::string& name, Figure figure, Figure of) {
  std::vector<double> shares;
  for (const Measurement* run : repetitions(runs, name)) add_ratio(shares, figure(*run), of(*run));
  return median_if_any(std::move(shares));
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
  constexpr double kib = 1024;
  if (bytes >= kib * kib * kib) return fmt::format("{:.2f} GiB", bytes / (kib * kib * kib));
  if (bytes >= kib * kib) return fmt::format("{:.1f} MiB", bytes / (kib * kib));
  if (bytes >= kib) return fmt::format("{:.1f} KiB", bytes / kib);
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace asyncgrad::experiment
