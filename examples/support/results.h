// Questions to a list of measured runs, each an object as Recorder::result() gives it. With repetitions a name is there
// several times, and what is asked for is the median.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/support/machine.h"

namespace support {

// The middle value; of an even number the mean of the two in the middle. `values` is not empty.
double median(std::vector<double> values);

// Every name once, in the order of the list.
std::vector<std::string> names_of(const Json& runs);
bool has(const Json& runs, const std::string& name);

// The median of a figure over the repetitions of a run; nothing if there is no such run.
std::optional<double> figure(const Json& runs, const std::string& name, const char* key);

// The median over the repetitions of a figure of one run over that of another in the same repetition; nothing if no
// repetition has both or what is divided by is 0.
std::optional<double> ratio(const Json& runs, const std::string& name, const std::string& other, const char* key);

// The median over the repetitions of one figure of a run over another; nothing as above.
std::optional<double> share(const Json& runs, const std::string& name, const char* key, const char* of);

// "9.312 s", "2.13 ms", "81 us".
std::string seconds_text(double seconds);
// "1.41 GiB", "61.2 MiB", "512 B".
std::string bytes_text(double bytes);

}  // namespace support
