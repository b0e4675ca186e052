// Whether gnuplot is there, without which there are no pictures.
#pragma once

#include "examples/support/process.h"

namespace support {

inline bool has_gnuplot() { return run_process({.arguments = {"gnuplot", "--version"}}).good(); }

}  // namespace support
