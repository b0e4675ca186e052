#include "asyncgrad/experiment/document.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>

#include "asyncgrad/experiment/json.h"

namespace asyncgrad::experiment {

namespace {

using Samples = std::vector<LiveBytesTimeline::Sample>;
using NamedOptions = std::vector<std::pair<std::string, OptionValue>>;

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// --- To JSON.

// JSON has no such numbers.
std::string text_of_infinite(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

template <class T>
Json json_of_value(const T& value) {
  if constexpr (is_optional<T>) {
    return value ? Json(*value) : Json(nullptr);
  } else if constexpr (std::is_same_v<T, Samples>) {
    Json pairs = Json::array();
    for (const LiveBytesTimeline::Sample& sample : value) {
      pairs.push_back(Json::array({sample.elapsed_s, sample.live_bytes}));
    }
    return pairs;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? Json(value) : Json(text_of_infinite(value));
  } else {
    return value;
  }
}

Json json_of(const Measurement& measurement) {
  Json json;
  const auto options = [&](const NamedOptions& named) {
    for (const auto& [name, value] : named) {
      std::visit([&](const auto& one) { json[name] = json_of_value(one); }, value);
    }
  };
  visit_members(
      measurement, [&](const char* name, const auto& value) { json[name] = json_of_value(value); }, options);
  if (!measurement.resumed_after) json.erase("resumed_after");
  if (!measurement.repetition) json.erase("repetition");
  if (!measurement.recomputed_operations) json.erase("recomputed_operations");
  if (!measurement.added_work) json.erase("added_work");
  return json;
}

// --- From JSON.

double infinite_in(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

template <class T>
void read(const Json& json, T& value) {
  if constexpr (is_optional<T>) {
    if (!json.is_null()) value = json.get<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, Samples>) {
    for (const Json& pair : json) value.push_back({pair.at(0).get<double>(), pair.at(1).get<std::int64_t>()});
  } else if constexpr (std::is_same_v<T, double>) {
    value = json.is_string() ? infinite_in(json.get<std::string>()) : json.get<double>();
  } else {
    json.get_to(value);
  }
}

OptionValue option_in(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_array()) return json.get<std::vector<std::int64_t>>();
  return json.get<std::string>();
}

Measurement measurement_of(const Json& json) {
  Measurement measurement;
  std::set<std::string> known;
  const auto member = [&](const char* name, auto& value) {
    known.insert(name);
    if (json.contains(name)) read(json.at(name), value);
  };
  visit_members(measurement, member, [](NamedOptions&) {});
  for (const auto& [name, value] : json.items()) {
    if (!known.contains(name)) measurement.options.emplace_back(name, option_in(value));
  }
  return measurement;
}

}  // namespace

std::string line_of(const Measurement& measurement) { return text_of(json_of(measurement)); }

std::optional<Measurement> measurement_in(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return measurement_of(json);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string document_of(const std::vector<Measurement>& runs) {
  std::string text = fmt::format("{{\"format\": 1,\n\"machine\": {},\n\"runs\": [", text_of(json_of(machine())));
  const char* separator = "\n";
  for (const Measurement& run : runs) {
    text += separator + line_of(run);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace asyncgrad::experiment
