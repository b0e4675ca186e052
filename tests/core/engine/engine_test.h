// The options under which tests of the engine run.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

using Floats = std::vector<float>;

class EngineTest : public testing::Test {
 protected:
  // There is no budget, as it would hold back operations that the tests want to see run ahead of their order.
  EngineTest() { set_engine_options({.workers = 2, .memory_budget = MemoryBudget::unbounded(), .inline_tiny = false}); }
  ~EngineTest() override {
    recover();
    set_engine_options({});
  }
};

}  // namespace asyncgrad::tests
