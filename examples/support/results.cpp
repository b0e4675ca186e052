#include "examples/support/results.h"

#include <fmt/format.h>

#include <algorithm>

namespace support {

namespace {

std::optional<double> median_if_any(std::vector<double> values) {
  return values.empty() ? std::nullopt : std::optional<double>(median(std::move(values)));
}

std::vector<const Json*> repetitions(const Json& runs, const std::string& name) {
  std::vector<const Json*> found;
  for (const Json& run : runs) {
    if (run.at("name") == name) found.push_back(&run);
  }
  return found;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<std::string> names_of(const Json& runs) {
  std::vector<std::string> names;
  for (const Json& run : runs) {
    const std::string name = run.at("name");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool has(const Json& runs, const std::string& name) { return !repetitions(runs, name).empty(); }

std::optional<double> figure(const Json& runs, const std::string& name, const char* key) {
  std::vector<double> values;
  for (const Json* run : repetitions(runs, name)) values.push_back(run->at(key));
  return median_if_any(std::move(values));
}

std::optional<double> ratio(const Json& runs, const std::string& name, const std::string& other, const char* key) {
  std::vector<double> ratios;
  for (const Json* above : repetitions(runs, name)) {
    for (const Json* below : repetitions(runs, other)) {
      const bool together = above->value("repetition", 1) == below->value("repetition", 1);
      if (together && below->at(key) != 0)
        ratios.push_back(above->at(key).get<double>() / below->at(key).get<double>());
    }
  }
  return median_if_any(std::move(ratios));
}

std::optional<double> share(const Json& runs, const std::string& name, const char* key, const char* of) {
  std::vector<double> shares;
  for (const Json* run : repetitions(runs, name)) {
    if (run->at(of) != 0) shares.push_back(run->at(key).get<double>() / run->at(of).get<double>());
  }
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

}  // namespace support
