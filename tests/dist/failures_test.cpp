// Collectives that fail, on one rank or on all, and processes that end amid them.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/submit.h"
#include "tests/dist/thread_transport.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

// A failure on one rank is the failure of all, and nobody updates.
TEST(Failure, OfOneRankIsThatOfAll) {
  as_ranks(3, [](const dist::World& world) {
    const Tensor x = parameter(ones({3})), y = parameter(ones({2}, {.dtype = float64}));
    optim::SGD sgd({y, x}, {.lr = 1});
    Tensor fails =
        custom("fails", {.shape = {2}, .dtype = float64}, {}, [&, rank = world.rank()](const CustomCall& call) {
          if (rank == 2) throw std::runtime_error("no value today");
          for (double& value : call.output<double>()) value = 1;
        });
    for (int step = 0; step < 2; ++step) {
      sum(x * 2).backward();
      sum(y * fails).backward();
      dist::average_gradients(sgd, world);
      sgd.step();
      const std::string message = message_of([&] { x.wait(); });
      EXPECT_THAT(message, HasSubstr("no value today"));
      if (world.rank() != 2) {
        EXPECT_THAT(message, HasSubstr("[average_gradients] rank 2: [fails] no value today"));
      }
    }
  });
  recover();
}

TEST(Failure, OfOtherProgramsNamesBothLines) {
  as_ranks(2, [](const dist::World& world) {
    const Tensor x = ones({world.rank() == 0 ? 3 : 4});
    const Tensor total = world.rank() == 0 ? dist::sum(x, world) : dist::sum(x, world);
    EXPECT_THAT(message_of([&] { total.wait(); }),
                HasSubstr("the programs of the ranks differ: rank 0 calls sum of float32 (3), queued at "
                          "failures_test.cpp:"));
    EXPECT_THAT(message_of([&] { total.wait(); }), HasSubstr("rank 1 calls sum of float32 (4), queued at"));
    EXPECT_EQ(dist::sum(ones({1}), world).item(), 2) << "the next call";
  });
  recover();
}

TEST(Failure, OfARankThatHasEnded) {
  as_ranks(3, [](const dist::World& world) {
    EXPECT_EQ(dist::sum(ones({1}), world).item(), 3);
    if (world.rank() == 1) return;
    const Tensor total = dist::sum(ones({1}), world);
    EXPECT_THAT(message_of([&] { total.wait(); }),
                HasSubstr("[sum] rank 1 has ended its program; this rank called sum"));
    EXPECT_THAT(message_of([&] { dist::sum(ones({1}), world); }), HasSubstr("[sum] rank 1 has ended its program"));
  });
  recover();
}

// A rank that gives no answer in the middle of a move may still write to the others' memory. So that memory stays, and is
// nobody else's.
void fail_in_a_move(const Tensor& values, const dist::World& world) {
  const bool is_large = values.shape().numel() > 100;
  ThreadTransport::is_stuck = true;
  dist::broadcast_tensors(is_large ? std::vector{values} : std::vector{values, zeros({3})}, world);
  const std::string message = message_of([&] { values.wait(); });
  if (message.find("[broadcast] no answer from") == std::string::npos) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::_Exit(1);
  }
}
void keeps_memory_of_moves(std::int64_t count) {
  const std::int64_t bytes = 4 * count;
  as_ranks(
      2,
      [&](const dist::World& world) {
        static std::atomic<int> failed{0};
        fail_in_a_move(zeros({count}), world);
        ++failed;
        while (failed < 2 || world.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        recover();
        std::vector<Tensor> others;
        for (int i = 0; i < 16; ++i) others.push_back(zeros({count}));
        std::byte* const workspace = detail::workspace(Device(), 2 * bytes + 128);
        std::memset(workspace, 0, static_cast<std::size_t>(2 * bytes));
        wait_all();
        for (const std::span<std::byte> memory : ThreadTransport::late) std::ranges::fill(memory, std::byte{0xff});
        bool is_zero = std::all_of(workspace, workspace + 2 * bytes, [](std::byte b) { return b == std::byte{0}; });
        for (const Tensor& other : others) is_zero &= other.to_vector<float>() == std::vector<float>(other.shape()[0]);
        std::_Exit(is_zero && ThreadTransport::late.size() == 2 ? 0 : 1);
      },
      0.2);
}
TEST(FailureDeathTest, InAMoveKeepsItsMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::int64_t count : {7, 300}) {  // in the workspace, and in the tensor itself
    EXPECT_EXIT(keeps_memory_of_moves(count), testing::ExitedWithCode(0), "") << count;
  }
}

// The end of all processes may come by exit(), whose handlers end the world.
class ExitingTransport final : public dist::Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void exchange(std::span<const std::byte>, std::span<std::byte>) override {}
  void all_to_all(const std::byte*, std::byte*, const dist::Slices&) override {}
  void all_gather(std::byte*, const dist::Slices&) override {}
  bool done() override { return true; }
  std::vector<int> silent() override { return {}; }
  void end() override {}
  void abort() noexcept override { std::exit(3); }
};
void end_with_unfinished_collectives() {
  static dist::Communicator* communicator = nullptr;
  communicator = new dist::Communicator([] { return std::make_unique<ExitingTransport>(); }, 1);
  std::atexit([] { communicator->end(); });
  communicator->note_queued();
  alarm(20);
  communicator->end();
}
TEST(EndDeathTest, MayComeByExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_with_unfinished_collectives(), testing::ExitedWithCode(3),
              "before all of its collectives have ended");
}

// Under every schedule the ranks stay in the same place after a failure that is that of all.
TEST(Failure, LeavesTheRanksTogetherUnderEverySchedule) {
  const EngineOptions before = engine_options();
  for (const Schedule schedule : {Schedule::oldest_first, Schedule::immediate}) {
    EngineOptions options = before;
    options.schedule = schedule;
    set_engine_options(options);
    as_ranks(2, [&](const dist::World& world) {
      const Tensor x = parameter(ones({world.rank() == 0 ? 3 : 4})), y = parameter(ones({2}, {.dtype = float64}));
      optim::SGD sgd({x, y}, {.lr = 1});
      (sum(x * 2).to(float64) + sum(y * 3)).backward();
      const std::string message = message_of([&] {
        dist::average_gradients(sgd, world);
        x.grad().wait();
      });
      EXPECT_THAT(message, HasSubstr("the programs of the ranks differ")) << name_of(schedule);
      EXPECT_EQ(dist::sum(ones({1}), world).item(), 2) << name_of(schedule) << ", the next call";
    });
    recover();
  }
  set_engine_options(before);
}

}  // namespace
}  // namespace asyncgrad::tests
