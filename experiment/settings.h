// The settings of a training, which come from the command line of its program.
#pragma once

#include <cstdint>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/math_mode.h"

namespace asyncgrad::experiment {

// The settings of every training. A program that wants other defaults, or options of its own, derives from it:
//
//   struct Settings : ag::experiment::Settings {
//     Settings() { batch_size = 64; }
//     double lr = 0.002;
//     void options(ag::experiment::Options& o) { o("lr", lr, "Learning rate"); }
//   };
//
// The seed, the device and the math mode are in force before `make` is called.
struct Settings {
  int batches = 150;               // the batches of a run
  std::int64_t batch_size = 1024;  // samples in a batch; an option of programs whose `make` takes settings
  std::uint64_t seed = 0;          // manual_seed() was called with it
  int workers = 0;                 // threads that compute; 0: as many as the library takes by itself
  Device device{};                 // the default device
  MathMode math = MathMode::float32;
};

}  // namespace asyncgrad::experiment
