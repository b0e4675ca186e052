#include "asyncgrad/core/launch_graph.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/fake_device.h"
#include "tests/support/forked.h"
#include "tests/support/message_of.h"
#include "tests/support/sanitizer.h"

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
  EXPECT_EQ(message_of(nested), "[graph] \"step\" is called within a call, in graph epoch");
  EXPECT_EQ(message_of([&] { inner([&] { inner([] {}); }); }),
            "[graph] \"step\" is called within a call, in graph step");
  EXPECT_EQ(message_of([&] { inner([] {}); }), "nothing was thrown");  // both calls are over
}

TEST(LaunchGraph, EndsItsCallWhenTheBodyThrows) {
  LaunchGraph step("step");
  EXPECT_THROW(step([] { throw std::out_of_range("in the body"); }), std::out_of_range);
  EXPECT_EQ(step([] { return ones({}).item(); }), 1);
  EXPECT_EQ(step.calls(), 2);
}

// The queues of these devices start everything at once, but record events only when a call of the graph ends.
TEST(LaunchGraphOnADevice, WaitsInItsBodyComeToAnEnd) {
  const FakeDevices devices;
  for (const std::int64_t capacity : {16384, 3}) {
    set_engine_options({.workers = 1, .queue_capacity = capacity});
    LaunchGraph step("step");
    Tensor x = full({1000}, 1, {.device = "cuda:0"});
    for (int i = 0; i < 5; ++i) {
      step([&] {
        x += 1.0;
        EXPECT_EQ(x.slice(0, 1).item(), 2);
        x -= 0.5;
        const Tensor there = x.to("cuda:1") + 0.5;
        mark().wait();
        x = there.to("cpu").to("cuda:0") * 0.5;
        std::thread([&x] { EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 1)); }).join();
      });
      if (i == 2) wait_all();
    }
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 1));
  }
  set_engine_options({});
}

// A child that is forked within a call loses the device, but can still compute on the CPU.
TEST(LaunchGraphOnADevice, IsForkedInItsBody) {
  if (no_threads_in_child != nullptr) GTEST_SKIP() << no_threads_in_child;
  const FakeDevices devices;
  LaunchGraph step("step");
  Tensor x = full({1000}, 1, {.device = "cuda:0"});
  for (int i = 0; i < 3; ++i) {
    step([&] {
      x += 1.0;
      EXPECT_EQ(status_of(fork_child([] { return ones({}).item() == 1; })), 0);
      x *= 0.5;
    });
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 1));
}

}  // namespace
}  // namespace asyncgrad::tests
