#include "asyncgrad/core/memory/storage.h"

#include <gtest/gtest.h>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {
namespace {

class StorageTest : public testing::Test {
 protected:
  StorageTest() { mark().wait(); }
  static Tensor make(std::int64_t size_bytes) { return make_tensor({size_bytes / 4}, DType::float32, Device()); }
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
  Tensor tensor = make(68);
  const Storage& storage = *tensor.impl()->storage;
  EXPECT_EQ(storage.value_bytes, 68);
  EXPECT_EQ(storage.size_bytes, 128);
  EXPECT_EQ(serial(), 128);
  EXPECT_EQ(live(), 0);  // nothing has written it
  tensor = {};
  EXPECT_EQ(serial(), 0);
}

TEST_F(StorageTest, LivesAsLongAsItIsUsed) {
  Tensor tensor = make(640);
  Storage& storage = *tensor.impl()->storage;
  storage.data = device_.allocator.take(640);
  add_handle(storage);
  add_use(storage);
  drop_handle(storage);
  EXPECT_EQ(serial(), 640);
  tensor = {};
  EXPECT_EQ(serial(), 0);
  EXPECT_EQ(waiting(), 640);
  EXPECT_EQ(live(), 640);
  drop_use(storage);
  EXPECT_EQ(waiting(), 0);
  EXPECT_EQ(live(), 0);
}

TEST_F(StorageTest, LivesAsLongAsItHasAHandle) {
  Tensor tensor = make(640);
  Storage& storage = *tensor.impl()->storage;
  storage.data = device_.allocator.take(640);
  add_use(storage);
  drop_use(storage);
  EXPECT_EQ(live(), 640);
  EXPECT_EQ(waiting(), 0);
  tensor = {};
  EXPECT_EQ(live(), 0);
}

TEST_F(StorageTest, OutlivesTheTensorThatItWasMadeFor) {
  Tensor tensor = make(640), view = make_view(tensor, {10, 8}, 80);
  EXPECT_EQ(tensor.impl()->storage, view.impl()->storage);
  tensor = {};
  EXPECT_EQ(serial(), 640);
  EXPECT_EQ(view.shape(), Shape(10, 8));
  EXPECT_EQ(make_view(view, {4}, 4).impl()->offset_bytes, 336);
  view = {};
  EXPECT_EQ(serial(), 0);
}

}  // namespace
}  // namespace asyncgrad::detail
