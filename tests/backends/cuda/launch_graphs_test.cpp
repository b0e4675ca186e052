// Calls of launch graphs on GPUs made of threads give the bits of running without graphs. The tests also count
// launches.
#include "asyncgrad/backends/cuda/launch_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/backends/cuda/fake_gpus.h"
#include "tests/backends/cuda/thousand.h"
#include "tests/backends/cuda/training.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

class LaunchGraphs : public testing::Test {
 protected:
  void TearDown() override { set_engine_options({}); }
  int calls(const char* function) { return gpus_.api().calls()[function]; }
  int graphs() { return calls("instantiate_graph") - calls("destroy_executable_graph"); }
  FakeGpus gpus_;
};

TEST_F(LaunchGraphs, LaunchTheThirdCallAtOnce) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 10; ++i) add_one_and_multiply(step, x, 0.5);
  EXPECT_EQ(x.to_vector<float>(), all(1));
  EXPECT_EQ(step.calls(), 10);
  EXPECT_EQ(step.replays(), 8);
  EXPECT_EQ(calls("launch_graph"), 8);
  EXPECT_EQ(calls("launch"), 1 + 2 * 2 + 2);  // and what was captured
  EXPECT_EQ(calls("set_child_graph"), 0);
}

// It is not recorded, and an error of any kind is that of its operation alone.
TEST_F(LaunchGraphs, CallAFunctionOfTheProgramOnceACall) {
  LaunchGraph step("step");
  int calls = 0;
  const auto count = [&](const CustomCall&) {
    if (++calls == 5) throw std::runtime_error("the fifth call");
  };
  for (int i = 0; i < 8; ++i) {
    const Tensor x = ones_there();
    Tensor y;
    step([&] {
      y = x + 1;
      y = y * 2;
      custom_many("counted", {}, {y}, [](const CustomCall&) {}, {.in_place = {0}, .cuda = count});
      y = y - 1;
      y = y * 3;
    });
    if (i == 4) {
      EXPECT_THAT(message_of([&] { y.wait(); }), testing::HasSubstr("[counted] the fifth call"));
      recover();
    } else {
      EXPECT_EQ(y.to_vector<float>(), all(9));
    }
  }
  EXPECT_EQ(calls, 8);
}

// It may have written before it threw.
TEST_F(LaunchGraphs, AValueThatAFunctionWasWritingStaysLost) {
  Tensor x = ones_there();
  x.wait();
  const auto fail = [](const CustomCall& call) {
    EXPECT_EQ(call.tiles(), 1);
    EXPECT_EQ(call.part_of(5), std::pair(std::int64_t{0}, std::int64_t{5}));
    throw std::runtime_error("half done");
  };
  custom_many("mine", {}, {x}, [](const CustomCall&) {}, {.tiles = 4, .in_place = {0}, .cuda = fail});
  EXPECT_THAT(message_of([&] { x.wait(); }), testing::HasSubstr("[mine] half done"));
  recover();
  EXPECT_THAT(message_of([&] { x.wait(); }), testing::HasSubstr("[mine] half done"));
}

TEST_F(LaunchGraphs, ChangeNumbersWithoutANewGraph) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 10; ++i) {
    step([&] {
      x += 1.0;
      x *= i;
      x += 1.0;
    });
  }
  Tensor expected = ones({1});
  for (int i = 0; i < 10; ++i) expected = (expected + 1.0) * i + 1.0;
  EXPECT_EQ(x.to_vector<float>(), all(expected.item()));
  EXPECT_EQ(step.replays(), 8);
  EXPECT_EQ(calls("set_child_graph"), 8);
}

TEST_F(LaunchGraphs, TrainToTheSameBits) {
  const std::vector<float> without = train(nullptr, false);
  for (const bool has_barrier : {false, true}) {
    LaunchGraph step("training step");
    EXPECT_EQ(train(&step, has_barrier), without);
    EXPECT_GT(step.replays(), 0);
  }
}

TEST_F(LaunchGraphs, KeepATakeForEachOfSomeAddresses) {
  LaunchGraph step("step");
  std::vector<Tensor> tensors{ones_there(), ones_there(), ones_there()};
  for (int i = 0; i < 12; ++i) {
    step([&] {
      Tensor& x = tensors[static_cast<std::size_t>(i) % 3];
      x += 1.0;
      x *= 2.0;
    });
  }
  for (const Tensor& x : tensors) EXPECT_EQ(x.to_vector<float>(), all(46));
  EXPECT_EQ(step.replays(), 12 - 2 * 3);
  EXPECT_EQ(graphs(), 3);
}

// The program may keep a tensor of each call, such as a loss.
TEST_F(LaunchGraphs, ChangeAddressesWithoutANewGraph) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  std::vector<Tensor> kept;
  for (int i = 0; i < 10; ++i) {
    step([&] {
      x += 1.0;
      kept.push_back(x * 2.0);
      x -= 2.0;
    });
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(kept[static_cast<std::size_t>(i)].to_vector<float>(), all(2 * (2 - i)));
  EXPECT_EQ(step.replays(), 8);
  EXPECT_EQ(calls("instantiate_graph"), 1);
  EXPECT_EQ(calls("set_child_graph"), 8);
}

TEST_F(LaunchGraphs, KeepNotMoreThanSomeTakes) {
  LaunchGraph step("step");
  std::vector<Tensor> tensors;
  for (int i = 0; i < 40; ++i) {
    tensors.push_back(full({4}, 1, {.device = gpu}));
    for (int call = 0; call < 3; ++call) {
      step([&] {
        tensors.back() += 1.0;
        tensors.back() *= 2.0;
      });
    }
  }
  for (const Tensor& x : tensors) EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 22));
  EXPECT_EQ(step.replays(), 40);
  EXPECT_EQ(graphs(), 16);
}

TEST_F(LaunchGraphs, EndWithTheirUser) {
  Tensor x = ones_there();
  for (int i = 0; i < 10; ++i) {
    LaunchGraph step("step");
    for (int call = 0; call < 4; ++call) {
      step([&] {
        x += 1.0;
        x += 1.0;
      });
    }
  }
  EXPECT_EQ(x.to_vector<float>(), all(81));
  EXPECT_EQ(calls("instantiate_graph"), 10);
  EXPECT_LE(graphs(), 2);  // the last ones: nobody has asked for another since
}

// The operations that were kept back so far are launched in their order, and the rest goes on.
TEST_F(LaunchGraphs, GoAnotherWayInTheMiddle) {
  LaunchGraph step("step");
  Tensor x = ones_there(), y = ones_there();
  for (int i = 0; i < 12; ++i) {
    step([&] {
      x += 1.0;
      y *= 2.0;
      i % 4 == 3 ? y -= x : x -= y;
      if (i % 5 != 4) x *= 0.25;
    });
  }
  Tensor a = ones({1}), b = ones({1});
  for (int i = 0; i < 12; ++i) {
    a += 1.0;
    b *= 2.0;
    i % 4 == 3 ? b -= a : a -= b;
    if (i % 5 != 4) a *= 0.25;
  }
  EXPECT_EQ(x.to_vector<float>(), all(a.item()));
  EXPECT_EQ(y.to_vector<float>(), all(b.item()));
  EXPECT_GT(step.replays(), 0);
}

TEST_F(LaunchGraphs, AreTwoAroundAWait) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 10; ++i) {
    step([&] {
      x += 1.0;
      x *= 2.0;
      x.wait();
      x -= 2.0;
      x *= 0.5;
    });
  }
  EXPECT_EQ(x.to_vector<float>(), all(1));
  EXPECT_EQ(step.replays(), 2 * 8);
}

TEST_F(LaunchGraphs, AreTwoAroundACopyToTheHost) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  std::vector<Tensor> copies;
  for (int i = 0; i < 10; ++i) {
    step([&] {
      x += 1.0;
      x *= 2.0;
      copies.push_back(x.to("cpu"));
      x -= 2.0;
      x *= 0.5;
    });
  }
  for (const Tensor& copy : copies) EXPECT_EQ(copy.to_vector<float>(), all(4));
  EXPECT_EQ(x.to_vector<float>(), all(1));
  EXPECT_GT(step.replays(), 8);
}

TEST_F(LaunchGraphs, TakeTurns) {
  LaunchGraph first("first"), second("second");
  Tensor x = ones_there();
  for (int i = 0; i < 10; ++i) {
    first([&] {
      x += 1.0;
      x *= 2.0;
    });
    if (i % 2 == 0) x += 1.0;  // of none
    second([&] {
      x -= 2.0;
      x *= 0.5;
    });
    if (i % 2 == 0) x -= 0.5;
  }
  EXPECT_EQ(x.to_vector<float>(), all(1));
  EXPECT_EQ(first.replays() + second.replays(), 2 * 8);
}

TEST_F(LaunchGraphs, OfTwoDevicesAreTwo) {
  LaunchGraph step("step");
  Tensor x = ones_there(), y = ones({1000}, {.device = "cuda:1"});
  for (int i = 0; i < 10; ++i) {
    step([&] {
      x += 1.0;
      y *= 2.0;
      x *= 0.5;
      y *= 0.5;
    });
  }
  EXPECT_EQ(x.to_vector<float>(), all(1));
  EXPECT_EQ(y.to_vector<float>(), all(1));
  EXPECT_EQ(step.replays(), 2 * 8);
}

// Copies between two devices, in either direction, wait for operations that are kept back on one of them.
TEST_F(LaunchGraphs, HoldNoOtherDeviceUp) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 10; ++i) {
    step([&] {
      x += 1.0;
      x *= 0.5;
      Tensor y = x.to("cuda:1");
      y += 1.0;
      y -= 1.0;
      x = y.to(gpu).to("cpu").to(gpu) + 0.0;
    });
  }
  EXPECT_EQ(x.to_vector<float>(), all(1));
}

TEST_F(LaunchGraphs, AreLongerThanTheQueue) {
  for (const std::int64_t capacity : {1, 3, 7}) {
    set_engine_options({.workers = 1, .queue_capacity = capacity});
    LaunchGraph step("step");
    Tensor x = ones_there();
    for (int i = 0; i < 6; ++i) {
      step([&] {
        for (int j = 0; j < 10; ++j) {
          x += 1.0;
          x *= 0.5;
        }
      });
    }
    EXPECT_EQ(x.to_vector<float>(), all(1));
  }
}

// Threads may wait other than the one that calls the graph, which is in its body all the time.
TEST_F(LaunchGraphs, LetOtherThreadsWait) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 5; ++i) {
    step([&] {
      x += 1.0;
      x *= 0.5;
      std::thread([&x] { EXPECT_EQ(x.to_vector<float>(), all(1)); }).join();
    });
  }
}

TEST_F(LaunchGraphs, OfTwoThreadsGiveTheSameBits) {
  LaunchGraph step("step");
  const auto use = [&step] {
    Tensor x = ones_there();
    for (int i = 0; i < 30; ++i) add_one_and_multiply(step, x, 0.5);
    EXPECT_EQ(x.to_vector<float>(), all(1));
  };
  std::thread other(use);
  use();
  other.join();
}

TEST_F(LaunchGraphs, EndWithTheBodysException) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 6; ++i) {
    const auto call = [&] {
      step([&] {
        x += 1.0;
        if (i == 4) throw std::out_of_range("in the body");
        x -= 1.0;
      });
    };
    if (i == 4) {
      EXPECT_THROW(call(), std::out_of_range);
    } else {
      call();
    }
  }
  EXPECT_EQ(x.to_vector<float>(), all(2));
  EXPECT_EQ(step.replays(), 3);
}

TEST_F(LaunchGraphs, MeetOtherOptionsInTheirBody) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  for (int i = 0; i < 6; ++i) {
    step([&] {
      x += 1.0;
      x *= 2.0;
      if (i % 2 == 1) set_engine_options({.workers = 1});
      trim_cache(gpu);
      x *= 0.25;
      x += 0.0;
    });
  }
  EXPECT_EQ(x.to_vector<float>(), all(1));
}

// In a profile each operation has a span of its own.
TEST_F(LaunchGraphs, AreNotUsedInAProfile) {
  LaunchGraph step("step");
  Tensor x = ones_there();
  const auto call = [&] { add_one_and_multiply(step, x, 0.5); };
  for (int i = 0; i < 5; ++i) call();
  wait_all();
  EXPECT_EQ(step.replays(), 3);
  profiler::start();
  for (int i = 0; i < 5; ++i) call();
  wait_all();
  profiler::stop();
  EXPECT_EQ(step.replays(), 3);
}

TEST_F(LaunchGraphs, AreNamedByTheirOperationsErrors) {
  LaunchGraph step("training step");
  Tensor x = ones_there();
  x.wait();
  gpus_.api().fail("launch", 0, cudaErrorInvalidConfiguration);
  add_one_and_multiply(step, x, 0.5);
  EXPECT_THAT(message_of([&] { x.wait(); }), testing::ContainsRegex("status 9(.|\n)*, in graph training step"));
  recover();
}

}  // namespace
}  // namespace asyncgrad::tests
