#include "asyncgrad/experiment/parse.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace asyncgrad::experiment {

namespace {

// The whole of `text` as a T, if it is one.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional<T>(value) : std::nullopt;
}

constexpr std::array<std::pair<std::string_view, int>, 4> units{{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};

}  // namespace

void reject(std::string_view option, std::string_view text, std::string_view accepted) {
  throw BadInput(fmt::format("{}: '{}' is not {}", option, text, accepted));
}

std::int64_t parse_whole(std::string_view option, std::string_view text, std::int64_t min, std::int64_t max) {
  const std::optional<std::int64_t> value = number<std::int64_t>(text);
  if (!value || *value < min || *value > max) {
    reject(option, text, fmt::format("a whole number from {} to {}", min, max));
  }
  return *value;
}

std::uint64_t parse_seed(std::string_view option, std::string_view text) {
  const std::optional<std::uint64_t> value = number<std::uint64_t>(text);
  if (!value) {
    reject(option, text, fmt::format("a whole number from 0 to {}", std::numeric_limits<std::uint64_t>::max()));
  }
  return *value;
}

double parse_rate(std::string_view option, std::string_view text) {
  const std::optional<double> value = number<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0) reject(option, text, "a finite number from 0 on");
  return *value;
}

std::int64_t parse_bytes(std::string_view option, std::string_view text) {
  std::string_view digits = text;
  int shift = 0;
  for (const auto& [unit, unit_shift] : units) {
    if (!digits.ends_with(unit)) continue;
    digits.remove_suffix(unit.size());
    shift = unit_shift;
  }
  const std::optional<std::int64_t> value = number<std::int64_t>(digits);
  if (!value || *value < 1 || *value > (std::numeric_limits<std::int64_t>::max() >> shift)) {
    reject(option, text, "a number of bytes above 0, like 1000000, 512KiB, 64MiB or 1GiB");
  }
  return *value << shift;
}

double parse_percent(std::string_view option, std::string_view text) {
  const std::optional<double> value =
      text.ends_with('%') ? number<double>(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!value || !(*value > 0 && *value <= 100)) reject(option, text, "a percentage above 0% and at most 100%");
  return *value / 100;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

}  // namespace asyncgrad::experiment
