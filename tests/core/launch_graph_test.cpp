#include "asyncgrad/core/launch_graph.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

TEST(LaunchGraph, RunsTheBodyAtEveryCall) {
  LaunchGraph step("step");
  Tensor x = zeros({3});
  for (int i = 0; i < 5; ++i) step([&] { x = x + 1.0; });
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{5, 5, 5}));
  EXPECT_EQ(step.name(), "step");
  EXPECT_EQ(step.calls(), 5);
  EXPECT_EQ(step.replays(), 0);  // there is nothing to be launched on the CPU
}

TEST(LaunchGraph, ReturnsWhatTheBodyDoes) {
  LaunchGraph step("step");
  const Tensor x = step([] { return ones({3}) * 2.0; });
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(step([&] { return sum(x).item(); }), 6);
}

TEST(LaunchGraph, WithinAnotherNamesBoth) {
  LaunchGraph outer("epoch"), inner("step");
  const auto nested = [&] { outer([&] { inner([] {}); }); };
  EXPECT_EQ(message_of(nested), "[graph] \"step\" is called within a call of \"epoch\"");
  EXPECT_EQ(message_of([&] { inner([&] { inner([] {}); }); }), "[graph] \"step\" is called within a call of \"step\"");
  EXPECT_EQ(message_of([&] { inner([] {}); }), "nothing was thrown");  // both calls are over
}

TEST(LaunchGraph, EndsItsCallWhenTheBodyThrows) {
  LaunchGraph step("step");
  EXPECT_THROW(step([] { throw std::out_of_range("in the body"); }), std::out_of_range);
  EXPECT_EQ(step([] { return ones({}).item(); }), 1);
  EXPECT_EQ(step.calls(), 2);
}

}  // namespace
}  // namespace asyncgrad::tests
