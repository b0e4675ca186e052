// Does not compile: `step` returns no loss.
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

int main(int argc, char** argv) {
  return asyncgrad::experiment::main(
      argc, argv, [] { return asyncgrad::nn::Dense(2, 1); }, [](const asyncgrad::nn::Dense&) {});
}
