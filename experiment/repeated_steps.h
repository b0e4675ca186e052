// A check, before a training begins, that it will go on from its checkpoints with the same bits.
#pragma once

#include "asyncgrad/experiment/main.h"

namespace asyncgrad::experiment {

// Trains for two steps, gives the training's members and the default generator the values that they had before, and
// trains for two steps more. Throws Error unless both times give the same losses and parameters: then the list of
// members lacks something that a step changes. The training has made a step before. Blocks.
void check_repeated_steps(const main_detail::Training& training);

}  // namespace asyncgrad::experiment
