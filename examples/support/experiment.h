// Compares runs of one training loop, each in a process of its own.
#pragma once

#include "examples/support/options.h"
#include "examples/support/recorder.h"

namespace support {

// A training loop: one warm-up step with its update, then the batches, with the calls that Recorder describes.
using TrainFunction = void (*)(const Run& run, Recorder& recorder);

// The whole of main(): reads the command line, starts this program again for every run, and reports a table, sentences,
// a picture and the data. Options that are not given have the values of `defaults`. Returns the exit status: 0, 1 if a
// run failed, 2 for bad input.
int compare_runs(int argc, char** argv, TrainFunction train, const Settings& defaults = {});

}  // namespace support
