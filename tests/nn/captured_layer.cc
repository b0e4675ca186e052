// Must not compile, and the compiler must name nn::Function: tests/CMakeLists.txt runs it.
#include "asyncgrad/asyncgrad.h"

int main() {
  const asyncgrad::Tensor offset = asyncgrad::ones({1});
  asyncgrad::nn::Sequential net{[offset](const asyncgrad::Tensor& x) { return x + offset; }};
}
