// The operations of a launch graph that CUDA refuses run one by one. A failure ends the device, and its message names
// the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/backends/cuda/thousand.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

// The functions of CUDA that are for graphs.
const std::vector<const char*> functions = {
    "begin_capture",   "end_capture",     "create_graph",      "destroy_graph",
    "get_node_count",  "add_child_graph", "instantiate_graph", "destroy_executable_graph",
    "set_child_graph", "launch_graph"};

// Calls a graph with two sequences, one of them with numbers that change.
std::vector<float> use_graphs() {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 6; ++i) add_one_and_multiply(step, x, i);
  x.wait();
  for (int i = 0; i < 6; ++i) add_one_and_multiply(step, x, 2.0);
  return x.to_vector<float>();
}

std::vector<float> expected_of_graphs() {
  double x = 1;
  for (int i = 0; i < 6; ++i) x = (x + 1) * i;
  for (int i = 0; i < 6; ++i) x = (x + 1) * 2;
  return all(x);
}

TEST(LaunchGraphsRefused, AreOperationsOneByOne) {
  std::map<std::string, int> calls;
  {
    FakeGpus gpus({.max_delay_us = 0});
    EXPECT_EQ(use_graphs(), expected_of_graphs());
    gpus.end();
    calls = gpus.api().calls();
  }
  for (const char* function : functions) {
    EXPECT_GT(calls[function], 0) << function;
    const bool is_end = std::string(function).starts_with("destroy");
    for (int index = 0; index < std::min(calls[function], max_tries) && !is_end; ++index) {
      for (const cudaError_t status : {cudaErrorMemoryAllocation, cudaErrorStreamCaptureInvalidated}) {
        SCOPED_TRACE(testing::Message() << function << " " << index << " " << status);
        FakeGpus gpus({.max_delay_us = 0});
        gpus.api().fail(function, index, status);
        EXPECT_EQ(use_graphs(), expected_of_graphs());
        EXPECT_TRUE(gpus.api().has_failed());
        gpus.end();
        EXPECT_EQ(gpus.api().objects(), 0U);
      }
    }
  }
}

// The sequence that a kernel refused is not part of the graph.
TEST(LaunchGraphsRefused, AreRefusedByAKernelToo) {
  for (int index = 5; index < 7; ++index) {
    FakeGpus gpus({.max_delay_us = 0});
    gpus.api().fail("launch", index, cudaErrorInvalidConfiguration);
    LaunchGraph step("step");
    Tensor x = ones_there();
    for (int i = 0; i < 6; ++i) add_one_and_multiply(step, x, 2.0);
    EXPECT_EQ(x.to_vector<float>(), all(190));
    EXPECT_TRUE(gpus.api().has_failed());
    EXPECT_EQ(step.replays(), 3);  // the third call has made it
  }
}

TEST(LaunchGraphsFailing, EndTheDevice) {
  for (const char* function : functions) {
    for (const bool is_lasting : {false, true}) {
      SCOPED_TRACE(testing::Message() << function << (is_lasting ? " and all after it" : ""));
      FakeGpus gpus({.max_delay_us = 0});
      gpus.api().fail(function, 0, cudaErrorIllegalAddress, is_lasting);
      const std::string message = message_of([] { use_graphs(); });
      if (gpus.api().has_failed()) {  // else at the very end
        EXPECT_THAT(message, HasSubstr("[cuda:0] the device has failed and does nothing more until the process starts "
                                       "anew: status 700, in graph step"));
      }
      recover();
      EXPECT_EQ((ones({10}) + 1.0).to_vector<float>(), std::vector<float>(10, 2));
      gpus.end();
      EXPECT_EQ(gpus.api().objects(), 0U);
    }
  }
}

// Neither the graph nor its operations one by one can be launched, although they count as issued already.
TEST(LaunchGraphsFailing, EndTheDeviceIfTheirOperationsAreRefused) {
  FakeGpus gpus({.max_delay_us = 0});
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 5; ++i) {
    if (i == 4) {
      x.wait();
      EXPECT_EQ(step.replays(), 2);
      gpus.api().fail("launch_graph", 0, cudaErrorInvalidConfiguration, true);
    }
    add_one_and_multiply(step, x, 2.0);
  }
  EXPECT_THAT(message_of([&] { x.wait(); }), HasSubstr("[cuda:0] the device has failed"));
  EXPECT_THAT(message_of([&] { x.wait(); }), HasSubstr("status 9, in graph step"));
  recover();
}

// Other numbers need a new capture, which is refused, so that the operations are launched one by one.
TEST(LaunchGraphsFailing, GoOnWithoutOtherNumbers) {
  FakeGpus gpus({.max_delay_us = 0});
  LaunchGraph step("step");
  Tensor x = ones_there();
  const auto call = [&] { add_one_and_multiply(step, x, 2.0); };
  for (int i = 0; i < 4; ++i) call();
  x.wait();
  EXPECT_EQ(step.replays(), 2);
  gpus.api().fail("launch", 0, cudaErrorInvalidConfiguration);
  add_one_and_multiply(step, x, 3.0);
  EXPECT_EQ(x.to_vector<float>(), all(141));
  EXPECT_EQ(step.replays(), 2);
}

TEST(LaunchGraphsAtExit, EndInTheirBody) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const FakeGpus gpus;  // there at the end, too: exit does not come back to this scope
        static Tensor x = ones_there();
        static LaunchGraph step("step");
        for (int i = 0; i < 10; ++i) {
          step([&] {
            x += 1.0;
            x *= 0.5;
            if (i == 9) std::exit(0);
          });
        }
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace asyncgrad::tests
