// Pictures, drawn by gnuplot.
#pragma once

#include <string>

#include "examples/support/machine.h"

namespace support {

// How every picture's program begins: svg or png by `file`'s ending, pixels, and a common look.
std::string terminal(const std::string& file, int width, int height);
// The color of a picture's line `index`, one that all eyes can tell from the others; they begin anew after seven.
const char* color(std::size_t index);
// Runs a gnuplot program and writes what it draws. Returns why it could not, or nothing.
std::string draw(const std::string& program, const std::string& file);

// The gnuplot program that writes to standard output, as svg or png by `file`'s ending, live memory over time: a line a
// run, from its first repetition, each point the maximum of its interval.
std::string memory_plot(const Json& runs, const std::string& file);

// Draws that picture. Returns why it could not, or nothing.
std::string draw_memory(const Json& runs, const std::string& file);

}  // namespace support
