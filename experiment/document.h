// Measurements as text, in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/experiment/measurement.h"

namespace asyncgrad::experiment {

// A measurement in one line. Every option and every figure has a name of its own. The repetition is left out if there
// is none. A number that is not finite, which JSON lacks, is the text "nan", "inf" or "-inf".
std::string line_of(const Measurement& measurement);
// The measurement of such a line; nothing for any other text.
std::optional<Measurement> measurement_in(std::string_view line);

// {"format": 1, "machine": {…}, "runs": […]}, with a line for each run, so that the file is easy to look through.
std::string document_of(const std::vector<Measurement>& runs);

}  // namespace asyncgrad::experiment
