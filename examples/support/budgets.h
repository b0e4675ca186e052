// Compares what trainings cost within memory budgets below their serial peak.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace budgets {

struct Training {
  std::function<void()> step;  // queues it
  std::vector<asyncgrad::Tensor> parameters;
};

struct Network {
  std::string name;
  Training (*make)(std::int64_t batch_size);
  std::int64_t batch_size;  // the default
};

// The whole program: reads the command line (--help lists it), trains networks of the list within each budget and
// without one, and prints a table; writes data and a picture where these were asked for. Returns the exit status.
int compare(int argc, char** argv, const std::vector<Network>& networks);

}  // namespace budgets
