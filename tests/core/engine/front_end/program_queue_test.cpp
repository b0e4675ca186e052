#include "asyncgrad/core/engine/front_end/program_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <new>
#include <span>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/core/no_new.h"

namespace asyncgrad::tests {
namespace {

// Staged operations are offered when one of another executor is queued. If there is no memory for that one, they must
// not have been offered without waking their workers: no thread waits here that could compute instead.
TEST(ProgramQueue, WakesTheWorkersOfStagedOperationsEvenIfTheNextOneFails) {
  set_engine_options({.workers = 2, .inline_tiny = false, .cpu_parts = 2});
  {
    const Tensor x = ones({2}), y = ones({2}, {.device = "cpu:1"});
    (x + 1).wait();
    (y + 1).wait();                                              // both have threads now
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // which fall asleep
    const std::uint64_t number = detail::Engine::get().next_number();
    const Tensor staged = x + 1;
    // More operands than an entry has room for.
    std::array<detail::OperandRef, 6> operands;
    operands.fill(detail::reads(y));
    {
      const NoNew no_new;
      EXPECT_THROW(detail::submit(detail::Op::concat, std::span<const detail::OperandRef>(operands),
                                  detail::NoAttributes{}, Location::current()),
                   std::bad_alloc);
    }
    detail::Engine::get().queue().offer_staged();  // as a thread that polls does
    while (!detail::Engine::get().reached({.number = number})) std::this_thread::yield();
    EXPECT_EQ(staged.to_vector<float>(), (std::vector<float>{2, 2}));
  }
  set_engine_options({});
}

// A thread that waits visits the executors, and offers what is staged before it sees that everything is finished.
TEST(ProgramQueue, KeepsItsLockFreeWhileOptionsWaitForVisitors) {
  ones({2}).wait();
  std::thread other;
  {
    const detail::Executors::WaitingVisit visit(detail::Engine::get().queue().context().executors);
    other = std::thread([] { set_engine_options({.workers = 2}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it waits for the visitor by now
    detail::Engine::get().queue().offer_staged();
  }
  other.join();
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::tests
