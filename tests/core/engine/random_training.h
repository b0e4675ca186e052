// Training drawn at random: each step makes a network of a few operations that networks are made of, takes its
// gradients and updates the parameters, which all steps share.
#pragma once

#include "tests/core/engine/random_program.h"

namespace asyncgrad::tests {

// Runs the training of `options.seed`, of `options.steps` steps, on the program's devices, which are parts of the CPU.
// Its handles are gone when it returns. run_program() calls it, as one of the programs.
Findings run_training(const ProgramOptions& options);

}  // namespace asyncgrad::tests
