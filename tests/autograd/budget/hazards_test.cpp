// Writes, failures, threads and forks beside values that are dropped and computed again.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "asyncgrad/core/host_memory.h"
#include "tests/autograd/budget/dropping.h"
#include "tests/core/engine/gate.h"
#include "tests/support/forked.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t count = 1 << 15;  // too many to be computed at the call

// The gradient of sum(exp(tanh(x))) for x as it was.
void expect_gradient_at(const std::vector<double>& at, const Tensor& gradient) {
  std::vector<double> expected;
  for (const double v : at) expected.push_back(std::exp(std::tanh(v)) * (1 - std::tanh(v) * std::tanh(v)));
  expect_near(gradient, expected);
}

TEST_F(Dropping, WhatIsReadByAddressIsReadByNoOperationTheProgramDoesNotKnowOf) {
  for (const bool is_random : {false, true}) {
    Generator generator(1);
    const Tensor drawn = uniform({count}, 0, 1, {.dtype = float64, .generator = &generator});
    const std::vector<double> at = values(drawn);
    const Tensor x = parameter(is_random ? drawn : float64_tensor(at, {count}));
    const Tensor z = sum(exp(tanh(x)));
    for (int i = 0; i < 3; ++i) ones({1});  // what exp and tanh have saved is dropped
    z.wait();
    std::ranges::fill(host_values<double>(x.detach()), 5.0);
    z.backward();
    expect_gradient_at(at, x.grad());
  }
}

// It was counted as a write before it threw.
TEST_F(Dropping, AWriteThatFailsAtItsCallLeavesNothingBehind) {
  EngineOptions options = engine_options();
  options.schedule = Schedule::immediate;
  set_engine_options(options);
  const Tensor x = parameter(random64({count}, 1));
  const std::vector<std::uint64_t> expected = bits(exp(x.detach()));
  const Tensor z = sum(exp(x));
  ones({1});
  {
    const NoGrad no_grad;
    EXPECT_THROW(custom_many("bad", {}, {x.detach()}, [](const CustomCall&) { throw std::runtime_error("fault"); },
                             {.in_place = {0}}),
                 Error);
  }
  recover();
  for (int i = 0; i < 3; ++i) ones({1});
  z.backward();
  EXPECT_EQ(bits(x.grad()), expected);
}

TEST_F(Dropping, WhatWasComputedFromAFailedWriteStaysFailed) {
  const Tensor x = parameter(random64({count}, 1));
  {
    const NoGrad no_grad;
    custom_many("bad", {}, {x.detach()}, [](const CustomCall&) { throw std::runtime_error("fault"); },
                {.in_place = {0}});
  }
  const Tensor z = sum(exp(x));
  for (int i = 0; i < 3; ++i) ones({1});
  EXPECT_THAT(message_of([] { wait_all(); }), HasSubstr("fault"));
  recover();
  EXPECT_NE(message_of([&] {
              z.backward();
              x.grad().wait();
            }),
            message_of([] {}));
  recover();
}

TEST_F(Dropping, ACheckForNanIsNotMadeOfWhatWasComputedWithoutIt) {
  const Tensor x = parameter(random64({count}, 1));
  Tensor mask;
  {
    const NoGrad no_grad;
    mask = greater(log(x), 0).to(float64);
  }
  const Tensor z = sum(x * mask);
  mask = Tensor();
  for (int i = 0; i < 3; ++i) ones({1});
  const DetectNan detect;
  z.backward();
  EXPECT_NO_THROW(wait_all());
}

// A tape's values go and come while another thread writes what they are computed from.
TEST_F(Dropping, AnotherThreadMayWriteWhatValuesAreComputedFrom) {
  const Tensor w = random64({300}, 1), v = random64({300}, 2);
  const Tensor p = parameter(random64({300}, 3));
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    const NoGrad no_grad;
    while (!is_done) {
      Tensor(w) *= 1.0;
      Tensor(v) *= 1.0;
    }
  });
  for (int i = 0; i < 400; ++i) {
    Tensor z = sum(exp(p + w * v));
    ones({1});
    if (i % 4 != 3) z.backward();
    Tensor(p).zero_grad();
  }
  is_done = true;
  writer.join();
  sum(exp(p + w * v)).backward();
  EXPECT_EQ(bits(p.grad()), bits(exp(p.detach() + w * v)));
}

// Two threads change what values were computed from, and wait for room in the queue meanwhile.
template <class Change>
void check_values_of_two(Change change) {
  set_engine_options(
      {.workers = 1, .memory_budget = MemoryBudget::bytes(1 << 30), .queue_capacity = 4, .recompute_to_fit = true});
  const Tensor a = parameter(random64({count}, 1)), b = parameter(random64({count}, 2));
  const Tensor value = exp(a.detach() + b.detach());
  Tensor loss = zeros({}, {.dtype = float64}), expected = zeros_like(value);
  for (int i = 0; i < 20; ++i) {
    loss = sum(exp(a + b)) + loss;
    expected = expected + value;
  }
  wait_all();
  {
    Gate gate(1 << 20);
    const Tensor held = ones({count});
    gate.wait_until_held();
    std::vector<std::thread> threads;
    for (const Tensor& tensor : {a, b}) threads.emplace_back([&change, tensor] { change(tensor); });
    // Until both wait; a thread that does not yet finds values that have come back.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.open();
    for (std::thread& thread : threads) thread.join();
  }
  loss.backward();
  EXPECT_EQ(bits(a.grad()), bits(expected));
}
TEST_F(Dropping, TwoThreadsMayWriteWhatAValueIsComputedFrom) {
  check_values_of_two([](Tensor x) {
    const NoGrad no_grad;
    x *= 1.5;
  });
}
TEST_F(Dropping, TwoThreadsMayGetTheAddressesOfWhatAValueIsComputedFrom) {
  check_values_of_two([](const Tensor& x) { std::ranges::fill(host_values<double>(x.detach()), 1.0); });
}

TEST_F(Dropping, AForkFindsNoLockHeld) {
  if (hangs_in_child != nullptr) GTEST_SKIP() << hangs_in_child;
  const Tensor large = ones({1 << 18});
  std::atomic<bool> is_done{false};
  std::thread reporter([&] {
    while (!is_done) engine_report();
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(status_of(fork_child([] { return !engine_report().empty(); })), 0);
  }
  is_done = true;
  reporter.join();
}

}  // namespace
}  // namespace asyncgrad::tests
