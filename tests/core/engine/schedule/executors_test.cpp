#include "asyncgrad/core/engine/schedule/executors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "asyncgrad/core/error.h"
#include "tests/core/engine/made_up_engine.h"

namespace asyncgrad::tests {
namespace {

using detail::CpuExecutor;
using detail::Executors;

TEST(Executors, AreThoseThatWereAdded) {
  MadeUpEngine engine;
  ASSERT_EQ(engine.executors.all().size(), 1U);
  EXPECT_EQ(engine.executors.all()[0].get(), engine.executor);
  CpuExecutor& second = dynamic_cast<CpuExecutor&>(
      engine.executors.add(std::make_unique<CpuExecutor>(engine.context, engine.device, false)));
  EXPECT_EQ(engine.executors.all()[1].get(), &second);
  engine.executors.clear();
  EXPECT_TRUE(engine.executors.all().empty());
}

TEST(Executors, TooManyAreRefused) {
  MadeUpEngine engine;
  const auto add = [&] { engine.executors.add(std::make_unique<CpuExecutor>(engine.context, engine.device, false)); };
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) add();
      },
      Error);
  EXPECT_EQ(engine.executors.all().size(), 64U);
}

TEST(Executors, AReplacementWaitsForVisitors) {
  MadeUpEngine engine;
  std::optional<Executors::WaitingVisit> visit(engine.executors);
  EXPECT_TRUE(engine.executors.has_waiting_visitors());
  std::atomic<bool> has_stopped{false};
  std::thread stopping([&] {
    const Executors::Replacement replacement(engine.executors);
    has_stopped = true;
  });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_FALSE(has_stopped);
  visit.reset();
  stopping.join();
  EXPECT_FALSE(engine.executors.has_waiting_visitors());
}

// One part of the CPU may lack the memory that another one has cached.
TEST(Executors, TrimWhatOtherPartsCache) {
  MadeUpEngine engine, other;
  const auto& added =
      engine.executors.add(std::make_unique<CpuExecutor>(engine.context, other.device, /*by_arrival=*/false));
  for (detail::DeviceState* device : {&engine.device, &other.device}) {
    device->allocator.set_max_cached(1 << 20);
    device->allocator.give_back(device->allocator.take(1 << 16), 1 << 16);
    ASSERT_GT(device->allocator.figures().cached_bytes, 0);
  }
  ASSERT_EQ(&added.device(), &other.device);
  engine.executors.trim_other_parts(engine.device);
  EXPECT_GT(engine.device.allocator.figures().cached_bytes, 0);
  EXPECT_EQ(other.device.allocator.figures().cached_bytes, 0);
}

// The return of memory clears the marks of refusals, the executor's and the common one. The next return has nothing to
// do.
TEST(Executors, ARefusalIsRetriedByTheNextThatReturnsMemory) {
  constexpr std::int64_t large = std::int64_t{1} << 20;
  static const detail::Kernel nothing{.run = [](const detail::KernelCall&, int) {}};
  MadeUpEngine engine(false, MemoryBudget::bytes(large));
  detail::Storage *first = engine.make_storage(large), *second = engine.make_storage(large);
  engine.device.serial_live.add(-large);
  detail::Operation& older = engine.add(nothing, *first);
  engine.executor->make_ready(engine.add(nothing, *second));
  engine.executor->workers().ensure_started();
  engine.executor->workers().notify(1);  // the worker is refused, and sleeps
  engine.executor->make_ready(older);
  engine.executor->workers().notify(1);  // it runs the older one; its end must bring it to the refused one
  engine.waiters.sleep_until({.number = 3, .all = true});
  EXPECT_EQ(engine.ring.oldest().load(), 3U);
  const Executors::Replacement replacement(engine.executors);
  engine.device.serial_live.add(large);
}

}  // namespace
}  // namespace asyncgrad::tests
