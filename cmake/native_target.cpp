// Prints Highway's name of the best instruction set of this processor among those that highway_targets.h leaves in. The
// others are the compiler's baseline, also on processors that are no x86.
#include <hwy/targets.h>

#include <cstdio>

int main() {
  [[maybe_unused]] const auto supported = hwy::SupportedTargets();
#if HWY_ARCH_X86
  if (supported & HWY_AVX3) return std::puts("HWY_AVX3") < 0;
  if (supported & HWY_AVX2) return std::puts("HWY_AVX2") < 0;
#endif
  return std::puts("baseline") < 0;
}
