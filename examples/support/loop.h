// The loop of a training that is compared with and without barriers.
#pragma once

#include <functional>
#include <vector>

#include "asyncgrad/core/tensor.h"
#include "examples/support/options.h"
#include "examples/support/recorder.h"

namespace support {

// Trains for the batches of the run, with its barriers: one step to warm up, then those that count. `step` queues a
// step and returns its loss. Returns when everything is computed, parameters included. async_training.cpp spells it
// out.
void train_batches(const Run& run, Recorder& recorder, const std::vector<asyncgrad::Tensor>& parameters,
                   const std::function<asyncgrad::Tensor()>& step);

}  // namespace support
