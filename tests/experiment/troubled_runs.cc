// A program like async_training whose runs end as their names make them: `batch` throws, `none` is killed,
// `in-flight:1` is interrupted by the user, an operation of `none:unbounded` fails, and the others are good.
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

namespace ag = asyncgrad;

struct Training {
  std::string run;
  ag::Tensor weight = ag::parameter(ag::ones({2}));
  int steps = 0;
  void members(ag::nn::Members& m) { m("weight", weight); }
};

ag::Tensor step(Training& t) {
  if (t.steps++ == 1) {  // the first after the one that warms up
    if (t.run == "batch") throw std::runtime_error("the loss is gone");
    if (t.run == "none") raise(SIGKILL);
    if (t.run == "none:unbounded") {
      t.weight = ag::source("batch", {.shape = {2}}, [](const auto&) { throw std::runtime_error("no such batch"); });
    }
    if (t.run == "in-flight:1") {
      kill(getppid(), SIGINT);
      pause();
    }
  }
  return ag::sum(t.weight);
}

int main(int argc, char** argv) {
  // As the library starts it: PROGRAM --measured-run NAME …
  const std::string run = argc > 2 && std::string(argv[1]) == "--measured-run" ? argv[2] : "";
  return ag::experiment::main(
      argc, argv, [run] { return Training{.run = run}; }, step);
}
