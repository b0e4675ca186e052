#include "asyncgrad/core/memory/device_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "asyncgrad/core/memory/memory_source.h"
#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {
namespace {

// A device's memory without an engine. It records what it would report to an engine.
struct NotedMemory final : DeviceMemory {
  NotedMemory() : DeviceMemory(Device(), host_memory()) {}
  void early_memory_returned(std::uint64_t taken_by, std::int64_t size_bytes) noexcept override {
    live_at_return = allocator.figures().live_bytes;
    serial_at_return = serial_live.total();
    returned_by = taken_by;
    returned_bytes += size_bytes;
  }
  void cure(Storage& storage) noexcept override {
    storage.failure = nullptr;
    ++cured;
  }

  std::uint64_t returned_by = 0;
  std::int64_t returned_bytes = 0, live_at_return = -1, serial_at_return = -1;
  int cured = 0;
};

class DeviceMemoryTest : public testing::Test {
 protected:
  // A storage with one handle and 640 bytes.
  Storage& make() {
    auto* const storage = new Storage{.size_bytes = 640, .value_bytes = 640, .device = &memory_};
    memory_.serial_live.add(640);
    storage->data = memory_.allocator.take(640);
    storage->taken_by = 7;
    return *storage;
  }

  NotedMemory& memory_ = *new NotedMemory;  // never destroyed, as every device's memory
};

TEST_F(DeviceMemoryTest, IsToldOfTheReturnOfWhatWasTakenEarly) {
  drop_handle(make());
  EXPECT_EQ(memory_.returned_bytes, 0);
  Storage& early = make();
  early.taken_early = true;
  add_use(early);
  drop_handle(early);
  EXPECT_EQ(memory_.waiting.total(), 640);
  EXPECT_EQ(memory_.returned_bytes, 0);
  drop_use(early);
  EXPECT_EQ(memory_.returned_by, 7U);
  EXPECT_EQ(memory_.returned_bytes, 640);
  EXPECT_EQ(memory_.live_at_return, 0);  // others may take as much at once
  EXPECT_EQ(memory_.waiting.total(), 0);
  EXPECT_EQ(memory_.serial_live.total(), 0);
}

// Once the serial level has fallen, another thread may take memory. The old memory must not be live any more by then.
TEST_F(DeviceMemoryTest, IsReturnedBeforeTheSerialLevelFalls) {
  Storage& storage = make();
  storage.taken_early = true;
  drop_handle(storage);
  EXPECT_EQ(memory_.live_at_return, 0);
  EXPECT_EQ(memory_.serial_at_return, 640);
  EXPECT_EQ(memory_.serial_live.total(), 0);
}

TEST_F(DeviceMemoryTest, LetsGoOfTheFailureOfAStorageThatEnds) {
  drop_handle(make());
  EXPECT_EQ(memory_.cured, 0);
  Storage& poisoned = make();
  int failure = 0;
  poisoned.failure = reinterpret_cast<Failure*>(&failure);
  drop_handle(poisoned);
  EXPECT_EQ(memory_.cured, 1);
  EXPECT_EQ(memory_.allocator.figures().live_bytes, 0);
}

}  // namespace
}  // namespace asyncgrad::detail
