#include "asyncgrad/core/storage/storage.h"

#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/storage/device_state.h"

namespace asyncgrad::detail {
namespace {

class StorageTest : public testing::Test {
 protected:
  StorageTest() { mark().wait(); }
  std::int64_t serial() const { return device_.serial_live.total() - serial_; }
  std::int64_t waiting() const { return device_.waiting.total() - waiting_; }
  std::int64_t live() const { return device_.allocator.figures().live_bytes - live_; }

  DeviceState& device_ = device_state(Device());
  std::int64_t serial_ = device_.serial_live.total(), waiting_ = device_.waiting.total(),
               live_ = device_.allocator.figures().live_bytes;
};

TEST_F(StorageTest, CountsWholeCacheLines) {
  EXPECT_EQ(rounded_bytes(0), 0);
  EXPECT_EQ(rounded_bytes(1), 64);
  EXPECT_EQ(rounded_bytes(64), 64);
  EXPECT_EQ(rounded_bytes(65), 128);
  Storage* storage = make_storage(65, device_);
  EXPECT_EQ(storage->size_bytes, 128);
  EXPECT_EQ(serial(), 128);
  EXPECT_EQ(live(), 0);  // nothing has written it
  drop_handle(*storage);
  EXPECT_EQ(serial(), 0);
}

TEST_F(StorageTest, LivesAsLongAsItIsUsed) {
  Storage* storage = make_storage(640, device_);
  storage->data = device_.allocator.take(640);
  add_handle(*storage);
  add_use(*storage);
  drop_handle(*storage);
  EXPECT_EQ(serial(), 640);
  drop_handle(*storage);
  EXPECT_EQ(serial(), 0);
  EXPECT_EQ(waiting(), 640);
  EXPECT_EQ(live(), 640);
  drop_use(*storage);
  EXPECT_EQ(waiting(), 0);
  EXPECT_EQ(live(), 0);
}

TEST_F(StorageTest, LivesAsLongAsItHasAHandle) {
  Storage* storage = make_storage(640, device_);
  storage->data = device_.allocator.take(640);
  add_use(*storage);
  drop_use(*storage);
  EXPECT_EQ(live(), 640);
  EXPECT_EQ(waiting(), 0);
  drop_handle(*storage);
  EXPECT_EQ(live(), 0);
}

}  // namespace
}  // namespace asyncgrad::detail
