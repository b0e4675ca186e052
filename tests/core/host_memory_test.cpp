#include "asyncgrad/core/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <thread>
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
  EXPECT_EQ(message_of([] { host_data(Tensor()); }),
            "[host_data] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(FromHostMemory, RefusesMoreThanAMachineCanAddress) {
  double value = 0;
  EXPECT_THAT(message_of([&] { from_host_memory(&value, float64, {std::int64_t{1} << 61}, nullptr); }),
              testing::HasSubstr("is more memory than a machine can address"));
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

TEST(FromHostMemory, MayHaveNothingToRelease) {
  std::vector<float> values{1, 2, 3};
  EXPECT_EQ(sum(from_host_memory(values.data(), float32, {3}, nullptr)).item(), 6);
  wait_all();
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

TEST(FromHostMemory, LetsGoOfItsOwnerAfterTheLastReader) {
  auto values = std::make_shared<std::vector<float>>(1 << 20, 1.0F);
  const std::weak_ptr<std::vector<float>> seen = values;
  Tensor x = from_host_memory(values->data(), {1 << 20}, values);
  values.reset();
  Tensor rows = x.reshape({2, 1 << 19})[1];
  x = Tensor();
  rows += 1;
  const Tensor total = sum(rows);
  EXPECT_EQ((*seen.lock())[0], 1);
  rows = Tensor();
  EXPECT_EQ(total.item(), 1 << 20);
  wait_all();
  EXPECT_TRUE(seen.expired());
}

TEST(FromHostMemory, SeesWhatTheProgramWritesBetweenOperations) {
  std::vector<std::int64_t> values{1, 2, 3};
  const Tensor x = from_host_memory(values.data(), {3}, nullptr);
  EXPECT_EQ(x.dtype(), int64);
  EXPECT_EQ((x * 2).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 4, 6}));
  values[1] = 7;
  EXPECT_EQ((x * 2).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 14, 6}));
  const MemoryFigures before = memory_figures();
  Tensor y = x.slice(1, 3);
  y.fill_(-1);
  while (!x.is_ready()) std::this_thread::yield();
  EXPECT_EQ(values[2], -1);
  EXPECT_EQ(memory_figures().live_bytes, before.live_bytes);
  EXPECT_EQ(memory_figures().serial_live_bytes, before.serial_live_bytes);
}

// It is a value like others: a leaf, and what a failed operation leaves as it was.
TEST(FromHostMemory, TakesPartInTrainingAndInFailures) {
  std::vector<float> values{1, 2};
  Tensor x = from_host_memory(values.data(), {2}, nullptr).requires_grad_();
  sum(square(x)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, 4}));
  {
    const NoGrad no_grad;
    x += take(ones({2}), Tensor::from<std::int64_t>({0, 5}, {2}));
  }
  EXPECT_THROW(x.wait(), Error);
  recover();
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(FromHostMemory, RefusesAddressesThatAreNone) {
  alignas(8) std::byte bytes[16]{};
  EXPECT_THAT(message_of([&] { from_host_memory(bytes + 1, float32, {2}, [] {}); }),
              testing::MatchesRegex("\\[from_host_memory\\] the address 0x.* is no multiple of 4, as float32 needs"));
  EXPECT_EQ(message_of([&] { from_host_memory(nullptr, float32, {2}, [] {}); }),
            "[from_host_memory] the address of 2 elements is null");
  EXPECT_EQ(from_host_memory(nullptr, float32, {0, 2}, [] {}).shape(), Shape(0, 2));
}

TEST(HostValues, AreASpanOfTheTensorsType) {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(host_values<float>(x.slice(1, 2)).size(), 2U);
  EXPECT_EQ(host_values<float>(x)[3], 4);
  EXPECT_EQ(host_values<float>(zeros({0})).size(), 0U);
  EXPECT_EQ(message_of([&] { host_values<double>(x); }), "[host_values] the tensor is float32, not float64");
}

}  // namespace
}  // namespace asyncgrad
