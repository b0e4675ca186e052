// Does not compile: the training does not say which parameters are compared.
#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"

struct Training {
  asyncgrad::nn::Dense net{2, 1};
};
asyncgrad::Tensor step(Training& t) { return asyncgrad::sum(t.net(asyncgrad::ones({1, 2}))); }

int main(int argc, char** argv) {
  return asyncgrad::experiment::main(
      argc, argv, [] { return Training(); }, step);
}
