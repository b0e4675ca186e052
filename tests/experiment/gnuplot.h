// Whether gnuplot is there, without which there are no pictures.
#pragma once

#include "asyncgrad/experiment/process.h"

namespace asyncgrad::experiment {

inline bool has_gnuplot() { return run_process({.arguments = {"gnuplot", "--version"}}).good(); }

}  // namespace asyncgrad::experiment
