// A run of a training: its settings, and the loop with its barriers.
#pragma once

#include <functional>

#include "asyncgrad/experiment/main.h"
#include "asyncgrad/experiment/plan.h"
#include "asyncgrad/experiment/recorder.h"

namespace asyncgrad::experiment {

// Sets the engine's options and the seed of the run, for the whole process. Waits until everything is finished.
void set_up(const Run& run);

// The run, whose budget is a number of bytes: of a share of the serial peak, steps of a training that `make` makes for
// this alone are dry-run to find the peak. Sets options, as set_up() does. Throws what a dry run of a step throws.
Run with_budget_in_bytes(Run run, const std::function<main_detail::Training()>& make);

// One step, for the memory that later steps reuse. Throws Error if the training has no parameters or the loss is no
// scalar.
void warm_up(const main_detail::Training& training);

// Trains for the batches of the run, with its barriers: one step to warm up, then those that count, which are fewer if
// the run resumes a checkpoint. Returns when everything is computed, parameters included, and the run's checkpoint is
// written. Throws as warm_up() does, and as the recorder and TrainingFile (training_file.h) do.
void train(const Run& run, const main_detail::Training& training, Recorder& recorder);

}  // namespace asyncgrad::experiment
