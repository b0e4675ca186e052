// Parses words of the command line as numbers and sizes. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/experiment/bad_input.h"

namespace asyncgrad::experiment {

// Throws BadInput("OPTION: 'TEXT' is not ACCEPTED").
[[noreturn]] void reject(std::string_view option, std::string_view text, std::string_view accepted);

// A whole number from `min` to `max`. This function and those below throw BadInput, naming `option`, for anything
// else.
std::int64_t parse_whole(std::string_view option, std::string_view text, std::int64_t min, std::int64_t max);
// A whole number from 0 to 2^64 - 1.
std::uint64_t parse_seed(std::string_view option, std::string_view text);
// A finite number that is not negative.
double parse_rate(std::string_view option, std::string_view text);
// A number of bytes, at least 1: "1000000", "512KiB", "64MiB", "1GiB", "2TiB".
std::int64_t parse_bytes(std::string_view option, std::string_view text);
// A percentage above 0 and at most 100, as a share: 0.5 for "50%".
double parse_percent(std::string_view option, std::string_view text);

// The parts between separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace asyncgrad::experiment
