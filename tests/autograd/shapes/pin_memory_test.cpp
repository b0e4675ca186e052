// Pinned memory where there is no GPU. tests/backends/cuda has what a GPU does with it.
#include <gmock/gmock.h>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(PinMemory, IsAnErrorWithoutAGpu) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(
      message_of([] { pin_memory(ones({3})); }),
      testing::ContainsRegex("\\[pin_memory\\] memory is pinned for copies between it and a GPU, and there is no "
                             "cuda:0 here.*; without one, leave pin_memory\\(\\) out"));
  EXPECT_FALSE(is_pinned(ones({3})));
}

}  // namespace
}  // namespace asyncgrad::tests
