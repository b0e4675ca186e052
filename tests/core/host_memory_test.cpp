#include "asyncgrad/core/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using tests::message_of;

TEST(HostData, IsWhereTheValuesAre) {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = x * 2;
  EXPECT_EQ(static_cast<const float*>(host_data(y))[5], 12);
  EXPECT_EQ(static_cast<const float*>(host_data(y.slice(1, 3)))[0], 6);
  static_cast<float*>(host_data(y))[0] = 7;
  EXPECT_EQ((y + 1).to_vector<float>()[0], 8);
}

TEST(HostData, ThrowsWhatMadeTheValueFail) {
  const Tensor x = take(ones({3}), Tensor::from<std::int64_t>({5}, {1}));
  EXPECT_THAT(message_of([&] { host_data(x); }), testing::HasSubstr("[take] index 5 at position 0"));
  EXPECT_EQ(message_of([] { host_data(Tensor()); }), "[host_data] a tensor that holds nothing");
}

TEST(FromHostMemory, SharesTheMemoryAndReleasesItOnce) {
  std::vector<float> values{1, 2, 3};
  int released = 0;
  const std::int64_t live = memory_figures().live_bytes;
  {
    const Tensor x = from_host_memory(values.data(), float32, {3}, [&] { ++released; });
    Tensor y = x.reshape({3, 1});
    y += 1;
    y.wait();
    EXPECT_EQ(values[2], 4);
    EXPECT_EQ(memory_figures().live_bytes, live);
    EXPECT_EQ(sum(x).item(), 9);
    EXPECT_EQ(released, 0);
  }
  wait_all();
  EXPECT_EQ(released, 1);
}

TEST(FromHostMemory, LastsAsLongAsQueuedOperations) {
  std::vector<double> values(1 << 20, 1.0);
  bool is_released = false;
  Tensor y;
  {
    const Tensor x = from_host_memory(values.data(), float64, {1 << 20}, [&] { is_released = true; });
    y = sum(x * 2);
  }
  EXPECT_EQ(y.item(), 2 << 20);
  wait_all();
  EXPECT_TRUE(is_released);
}

}  // namespace
}  // namespace asyncgrad
