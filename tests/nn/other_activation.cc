// Must not compile, and the compiler must say what an activation is: tests/CMakeLists.txt runs it.
#include <vector>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

int main() {
#ifdef REFUSED_TableOfActivations
  const std::vector<ag::Activation> table{ag::relu, ag::tanh};
  const ag::nn::Dense layer(4, 8, table);
#else
  const ag::Tensor slope = ag::ones({8});
  const ag::nn::Conv2d layer(4, 8, 3, [slope](const ag::Arg& x) { return x * slope; }, {.padding = 1});
#endif
}
