// Must not compile, and the compiler must list the types of elements: tests/CMakeLists.txt runs it.
#include "asyncgrad/asyncgrad.h"

int main() { asyncgrad::Tensor::from(std::vector<short>{1, 2}, {2}); }
