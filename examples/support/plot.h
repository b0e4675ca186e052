// Pictures, drawn by gnuplot.
#pragma once

#include <string>

#include "asyncgrad/examples/support/machine.h"

namespace support {

// The gnuplot program that writes to standard output, as svg or png by `file`'s ending, live memory over time: a line a
// run, from its first repetition, each point the maximum of its interval.
std::string memory_plot(const Json& runs, const std::string& file);

// Draws that picture. Returns why it could not, or nothing.
std::string draw_memory(const Json& runs, const std::string& file);

}  // namespace support
