// Calls that are forbidden inside an operation, because it would wait for itself or for a lock that it holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/core/engine/other_fill.h"
#include "tests/support/message_of.h"
#include "tests/support/print_options.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Forbidden {
  const char* what;
  std::function<void(const Tensor& finished)> call;
};
const Forbidden forbidden[] = {
    {"a wait", [](const Tensor& x) { x.wait(); }},
    {"a wait", [](const Tensor& x) { static_cast<void>(x.item()); }},
    {"a wait", [](const Tensor& x) { static_cast<void>(x.to_vector<float>()); }},
    {"a wait", [](const Tensor&) { wait_all(); }},
    {"a wait", [](const Tensor&) { mark().wait(); }},
    {"a wait", [](const Tensor&) { recover(); }},
    {"a wait", [](const Tensor&) { set_engine_options({}); }},
    {"a queueing call", [](const Tensor& x) { static_cast<void>(x + 1); }},
    {"a queueing call", [](const Tensor&) { static_cast<void>(Tensor::from(std::vector<float>{1}, {1})); }},
    {"a look at the engine", [](const Tensor&) { engine_figures(); }},
    {"a look at the engine", [](const Tensor&) { reset_peaks(); }},
    {"a look at the engine", [](const Tensor&) { dry_run_report(); }},
    {"a look at the engine", [](const Tensor& x) { to_dot(x); }},
};

// The kernel, its preparation or the test's hook calls this function.
std::function<void()> inside;

class InsideOperation : public testing::TestWithParam<EngineOptions> {
 protected:
  void SetUp() override { set_engine_options(GetParam()); }
  void TearDown() override {
    recover();
    set_engine_options({});
  }

  // Makes a fill do each of the forbidden calls. The fill fails with its message, and the engine goes on as if nothing
  // had been.
  static void expect_errors() {
    const Tensor x = Tensor::from(std::vector<float>{3}, {1});
    x.wait();
    for (const Forbidden& each : forbidden) {
      inside = [&] { each.call(x); };
      const Tensor bad = zeros({1});
      EXPECT_THAT(message_of([&] { bad.wait(); }), StartsWith(std::string("[fill] [engine] ") + each.what +
                                                              " inside an operation might wait for that operation"));
      inside = [] {};
      EXPECT_EQ((x + 1).item(), 4);  // the thread is outside again
      EXPECT_EQ(zeros({1}).item(), 0);
    }
  }
};

TEST_P(InsideOperation, AKernelMayNotWaitQueueOrLook) {
  const OtherFill fill({.run = [](const detail::KernelCall& call, int) {
    call.data<float>(0)[0] = 0;
    inside();
  }});
  expect_errors();
}

TEST_P(InsideOperation, ItsPreparationMayNotEither) {
  const OtherFill fill({.run = [](const detail::KernelCall& call, int) { call.data<float>(0)[0] = 0; },
                        .prepare = [](const detail::KernelCall&) { inside(); }});
  expect_errors();
}

TEST_P(InsideOperation, ATestsHookMayNotEither) {
  inside = [] {};
  detail::Engine::get().set_hook([](std::uint64_t) { inside(); });
  expect_errors();
  detail::Engine::get().set_hook(nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, InsideOperation,
    testing::Values(EngineOptions{.workers = 1, .inline_tiny = false},
                    EngineOptions{.workers = 2, .inline_tiny = false}, EngineOptions{.workers = 2, .inline_tiny = true},
                    EngineOptions{
                        .workers = 2, .schedule = Schedule::first_ready, .queue_capacity = 1, .inline_tiny = false}));

// Waiting threads compute, too, so that tiles of one operation fail on several threads at once.
TEST(InsideOperationTiles, MayNotWaitEither) {
  set_engine_options({.workers = 3, .inline_tiny = false});
  const OtherFill fill({.run = [](const detail::KernelCall&, int) { wait_all(); },
                        .tiles = [](const detail::KernelCall&) { return 16; }});
  for (int round = 0; round < 50; ++round) {
    const Tensor bad = zeros({16});
    EXPECT_THAT(message_of([&] { bad.wait(); }), HasSubstr("[engine] a wait inside an operation"));
    mark().wait();
  }
  recover();
}

}  // namespace
}  // namespace asyncgrad::tests
