// The workloads `trial_*` on asyncgrad: operations and layers, with the gradients of the sum of their values.
#pragma once

#include "stopwatch.h"

namespace asyncgrad::benchmarks {

Workloads trials();

}  // namespace asyncgrad::benchmarks
