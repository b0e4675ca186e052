// Queries of a list of measured runs. With repetitions a name occurs several times, and the functions return medians.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/experiment/measurement.h"

namespace asyncgrad::experiment {

using Measurements = std::vector<Measurement>;

// A figure of a run; nothing if it was not measured.
using Figure = std::optional<double> (*)(const Measurement& run);
template <auto member>
std::optional<double> figure_of(const Measurement& run) {
  const auto& value = run.*member;
  if constexpr (requires { value.has_value(); }) {
    return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
  } else {
    return static_cast<double>(value);
  }
}

// The middle value, or the mean of the two middle values. `values` is not empty.
double median(std::vector<double> values);

// The names without repetitions, in the order of the list.
std::vector<std::string> names_of(const Measurements& runs);
bool has(const Measurements& runs, const std::string& name);

// The median of a figure over the repetitions of a run; nothing if there is no such run, or no figure.
std::optional<double> median_of(const Measurements& runs, const std::string& name, Figure figure);

// The median ratio of a figure of one run to that of another run in the same repetition. Nothing if no repetition has
// both runs with a divisor that is not 0.
std::optional<double> ratio(const Measurements& runs, const std::string& name, const std::string& other, Figure figure);

// The median ratio of one figure of a run to another figure of it. Nothing if the run is missing or every divisor is 0.
std::optional<double> share(const Measurements& runs, const std::string& name, Figure figure, Figure of);

// "9.312 s", "2.13 ms", "81 us".
std::string seconds_text(double seconds);
// "1.41 GiB", "61.2 MiB", "512 B".
std::string bytes_text(double bytes);

}  // namespace asyncgrad::experiment
