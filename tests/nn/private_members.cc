// Must not compile, and the compiler must say that the list is public: tests/CMakeLists.txt runs it.
#include "asyncgrad/asyncgrad.h"

class Shift {
 public:
  asyncgrad::Tensor operator()(const asyncgrad::Tensor& x) const { return x + offset_; }

 private:
  void members(asyncgrad::nn::Members& m) { m("offset", offset_); }

  asyncgrad::Tensor offset_ = asyncgrad::parameter(asyncgrad::ones({1}));
};

int main() { asyncgrad::nn::Sequential net{Shift()}; }
