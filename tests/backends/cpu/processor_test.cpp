#include "asyncgrad/backends/cpu/processor.h"

#include <gmock/gmock.h>
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::detail {

namespace {

TEST(Processor, IsRefusedWithoutTheInstructionSets) {
  EXPECT_EQ(processor_refusal(HWY_AVX3, HWY_AVX2 | HWY_SCALAR),
            "asyncgrad was built for processors with AVX-512, which this processor lacks; build it on this machine, or "
            "with the CMake option ASYNCGRAD_INSTRUCTION_SETS=all");
  EXPECT_THAT(processor_refusal(HWY_AVX2, HWY_SCALAR), testing::HasSubstr("for processors with AVX2, which"));
  EXPECT_EQ(processor_refusal(HWY_AVX2, HWY_AVX3 | HWY_AVX2 | HWY_SCALAR), "");
  EXPECT_EQ(processor_refusal(HWY_AVX3 | HWY_AVX2 | HWY_SCALAR, HWY_SCALAR), "");
}

// Makes Highway say that the processor has nothing but the compiler's baseline. Computes, or prints why that is
// refused.
[[noreturn]] void compute_on_an_old_processor() {
  hwy::SetSupportedTargetsForTest(HWY_STATIC_TARGET);
  try {
    std::fprintf(stderr, "sum %g\n", sum(ones({20})).item());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::exit(0);
}

TEST(ProcessorDeathTest, IsRefusedAtTheFirstUse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a new process, which has no kernels yet
  EXPECT_EXIT(compute_on_an_old_processor(), testing::ExitedWithCode(0), EXPECTED_ON_AN_OLD_PROCESSOR);
}

}  // namespace

}  // namespace asyncgrad::detail
