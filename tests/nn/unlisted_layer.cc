// Must not compile, and the compiler must show the line to add: tests/CMakeLists.txt runs it.
#include "asyncgrad/asyncgrad.h"

struct Shift {
  asyncgrad::Tensor offset = asyncgrad::parameter(asyncgrad::ones({1}));
  asyncgrad::Tensor operator()(const asyncgrad::Tensor& x) const { return x + offset; }
};

int main() { asyncgrad::nn::Sequential net{Shift()}; }
