// Tests of kernels under every instruction set for which they are compiled.
#pragma once

#include "asyncgrad/backends/cpu/highway_targets.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>

namespace asyncgrad::tests {

// Calls `passes` for each instruction set that this processor has, in a new process, which has not chosen one yet, and
// expects true. Death tests call it.
inline void expect_under_every_instruction_set(bool (*passes)()) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#ifdef ONE_INSTRUCTION_SET
  static_cast<void>(passes);
  GTEST_SKIP() << "the library was built for this processor's instruction set alone";
#else
  const std::int64_t all = HWY_TARGETS & hwy::SupportedTargets();
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    SCOPED_TRACE(hwy::TargetName(target));
    const auto exit_with_result = [&] {
      hwy::SetSupportedTargetsForTest(target);
      std::_Exit(passes() ? 0 : 1);
    };
    EXPECT_EXIT(exit_with_result(), testing::ExitedWithCode(0), "");
  }
#endif
}

}  // namespace asyncgrad::tests
