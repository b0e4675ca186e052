// Pictures, drawn by gnuplot.
#pragma once

#include <string>

#include "asyncgrad/experiment/results.h"

namespace asyncgrad::experiment {

// The start of the program of every picture: svg or png by the ending of `file`, the size in pixels, and the common
// look.
std::string terminal(const std::string& file, int width, int height);
// The color of a picture's line `index`. Color-blind readers can distinguish the seven colors; further lines repeat
// them.
const char* color(std::size_t index);
// Runs a gnuplot program and replaces `file` by its picture. Returns why gnuplot could not draw it, or an empty text.
// Throws Error if the file cannot be written.
std::string draw(const std::string& program, const std::string& file);
// Prints where a picture is, or complains of the obstacle that draw() has returned. Returns whether there is a picture.
bool report_picture(const std::string& obstacle, const std::string& file);

// The gnuplot program that draws live memory over time, as svg or png by the ending of `file`. Each run is a line,
// taken from its first repetition; each point is the maximum of its interval.
std::string memory_plot(const Measurements& runs, const std::string& file);

// Draws that picture; returns and throws as draw() does.
std::string draw_memory(const Measurements& runs, const std::string& file);

}  // namespace asyncgrad::experiment
