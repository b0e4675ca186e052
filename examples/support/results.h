// Queries of a list of measured runs, each an object of Recorder::result(). With repetitions a name occurs several
// times, and the functions return medians.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/support/machine.h"

namespace support {

// The middle value, or the mean of the two middle values. `values` is not empty.
double median(std::vector<double> values);

// The names without repetitions, in the order of the list.
std::vector<std::string> names_of(const Json& runs);
bool has(const Json& runs, const std::string& name);

// The median of a figure over the repetitions of a run; nothing if there is no such run.
std::optional<double> figure(const Json& runs, const std::string& name, const char* key);

// The median ratio of a figure of one run to that of another run in the same repetition. Nothing if no repetition has
// both runs with a divisor that is not 0.
std::optional<double> ratio(const Json& runs, const std::string& name, const std::string& other, const char* key);

// The median ratio of one figure of a run to another figure of it. Nothing if the run is missing or every divisor is 0.
std::optional<double> share(const Json& runs, const std::string& name, const char* key, const char* of);

// "9.312 s", "2.13 ms", "81 us".
std::string seconds_text(double seconds);
// "1.41 GiB", "61.2 MiB", "512 B".
std::string bytes_text(double bytes);

}  // namespace support
