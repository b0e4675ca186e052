// Measurements as text, in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/experiment/measurement.h"

namespace asyncgrad::experiment {

// A measurement in one line. An option has a name of its own, as has every figure; the repetition is left out if there
// is none.
std::string line_of(const Measurement& measurement);
// What such a line says; nothing if it is anything else.
std::optional<Measurement> measurement_in(std::string_view line);

// {"format": 1, "machine": {…}, "runs": […]}, with a line for each run, so that the file is easy to look through.
std::string document_of(const std::vector<Measurement>& runs);

}  // namespace asyncgrad::experiment
