// Data that the program makes on threads of its own.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "asyncgrad/core/engine/admission/admission.h"
#include "tests/autograd/support.h"
#include "tests/support/print_options.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

constexpr std::int64_t mebi_floats = std::int64_t{1} << 18;  // of a tensor of 1 MiB

// A tensor that is `value` everywhere.
Tensor constant(float value, std::int64_t numel = 10) {
  return source("constant", {.shape = {numel}},
                [value](const CustomCall& call) { std::ranges::fill(call.output<float>(), value); });
}

class Source : public testing::TestWithParam<EngineOptions> {
 protected:
  void SetUp() override { set_engine_options(GetParam()); }
  void TearDown() override {
    recover();
    set_engine_options({});
  }
};

TEST_P(Source, MakesWhatOthersRead) {
  for (int i = 0; i < 100; ++i) {
    const Tensor x = constant(static_cast<float>(i));
    EXPECT_EQ((x + 1).to_vector<float>(), std::vector<float>(10, static_cast<float>(i) + 1));
  }
}

TEST_P(Source, MakesSeveralTensors) {
  const std::vector<Tensor> made =
      source_many("pair", {{.shape = {2}}, {.shape = {1}, .dtype = int64}}, [](const CustomCall& call) {
        std::ranges::fill(call.output<float>(0), 3.0F);
        call.output<std::int64_t>(1)[0] = 4;
      });
  EXPECT_EQ(made[0].to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(made[1].item(), 4);
}

TEST_P(Source, AnExceptionIsItsError) {
  const std::string message = message_of([] {
    const Tensor x =
        source("reader", {.shape = {2}}, [](const CustomCall&) { throw std::runtime_error("no such file"); });
    (x + 1).wait();
  });
  EXPECT_THAT(message, HasSubstr("[reader] no such file"));
  EXPECT_THAT(message, HasSubstr("source_test.cpp"));
  recover();
  EXPECT_EQ(constant(2, 1).item(), 2);
}

// The tensor's last handle is then dropped on a thread that computes.
TEST_P(Source, MayHoldATensorsLastHandle) {
  constant(0).wait();
  const std::int64_t live_before = memory_figures().live_bytes;
  for (int i = 0; i < 100; ++i) {
    Tensor held = ones({500});
    const Tensor total = sum(held * 2);
    const Tensor size = source("size", {.shape = {}}, [held = std::move(held)](const CustomCall& call) {
      call.output<float>()[0] = static_cast<float>(held.numel());
    });
    EXPECT_EQ((total + size).item(), 1500);
  }
  set_engine_options({});  // ends the threads, which let go of what they hold
  EXPECT_EQ(memory_figures().live_bytes, live_before);
}

INSTANTIATE_TEST_SUITE_P(Ways, Source,
                         testing::Values(EngineOptions{}, EngineOptions{.inline_tiny = false, .source_threads = 1},
                                         EngineOptions{.schedule = Schedule::first_ready, .inline_tiny = false},
                                         EngineOptions{.schedule = Schedule::immediate},
                                         EngineOptions{.workers = 1, .memory_budget = MemoryBudget::bytes(1)},
                                         EngineOptions{.workers = 2, .cpu_parts = 2, .source_threads = 3}),
                         testing::PrintToStringParamName{});

class SourcesAndMemory : public testing::Test {
 protected:
  void TearDown() override {
    recover();
    set_engine_options({});
  }
};

// While a source has begun and does not end, everything else goes on with the memory that it would have without the
// source.
TEST_F(SourcesAndMemory, NobodyWaitsForOneThatIsUnderWay) {
  for (const std::int64_t budget : {std::int64_t{1}, std::int64_t{64} << 20}) {
    set_engine_options({.workers = 1, .memory_budget = MemoryBudget::bytes(budget), .inline_tiny = false});
    std::promise<void> open;
    const std::shared_future<void> gate = open.get_future().share();
    std::promise<void> has_begun;
    const Tensor slow = source("slow", {.shape = {mebi_floats}}, [gate, &has_begun](const CustomCall& call) {
      has_begun.set_value();
      gate.wait();
      std::ranges::fill(call.output<float>(), 1.0F);
    });
    has_begun.get_future().wait();
    reset_peaks();
    Tensor x = ones({mebi_floats});
    for (int i = 0; i < 10; ++i) x = x * 1.5F - x;
    EXPECT_EQ(x.slice(0, 1).item(), std::pow(0.5F, 10));  // would never return if it waited for the source
    const MemoryFigures figures = memory_figures();
    EXPECT_EQ(figures.peak_under_way_bytes, 4 * mebi_floats);
    EXPECT_LE(figures.peak_live_bytes,
              std::max(figures.budget_bytes, figures.serial_peak_bytes) + figures.peak_under_way_bytes);
    const Tensor sum_of_both = slow + x;
    open.set_value();
    EXPECT_EQ(sum_of_both.slice(0, 1).item(), 1 + std::pow(0.5F, 10));
  }
}

// The next batches are made while the first one is computed, but only as many as there is memory for.
TEST_F(SourcesAndMemory, TheyRunAheadAsFarAsTheBudgetAllows) {
  constexpr int threads = 8, batches = 6;
  set_engine_options(
      {.workers = 1,
       .memory_budget = MemoryBudget::bytes(4 * 4 * mebi_floats + 1000 + detail::Admission::max_reserve_bytes),
       .inline_tiny = false,
       .source_threads = threads});
  constant(0).wait();  // the first source waits for everything
  std::atomic<int> made{0};
  std::promise<void> open;
  const std::shared_future<void> gate = open.get_future().share();
  std::vector<Tensor> sums;
  const auto hold = [gate](const CustomCall& call) {
    gate.wait();
    call.output<float>()[0] = 0;
  };
  const Tensor held = custom("hold", {.shape = {1}}, {}, hold, {.cost = 1 << 20});
  for (int batch = 0; batch < batches; ++batch) {
    const Tensor x = source("batch", {.shape = {mebi_floats}}, [&made](const CustomCall& call) {
      std::ranges::fill(call.output<float>(), 1.0F);
      ++made;
    });
    sums.push_back(sum(x) + held);
  }
  while (made < 3) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(made, 3) << "a fourth would need five together with what the program holds at its peak";
  open.set_value();
  for (const Tensor& each : sums) EXPECT_EQ(each.item(), mebi_floats);
  EXPECT_EQ(made, batches);
}

// Memory may return just when one thread gives a refused source back and another one looks for it. A source that is not
// tried again would hang the test.
TEST_F(SourcesAndMemory, RefusedOnesAreAllTriedAgain) {
  set_engine_options(
      {.workers = 2, .memory_budget = MemoryBudget::bytes(64 << 10), .inline_tiny = false, .source_threads = 3});
  for (int round = 0; round < 5000; ++round) {
    std::vector<Tensor> sums;
    for (std::int64_t i = 0; i < 10; ++i) sums.push_back(sum(constant(1, 3000 + 100 * (i % 7)) * 2 + 1));
    wait_all();
    ASSERT_EQ(sums.back().item(), 3 * 3200);
  }
}

TEST_F(SourcesAndMemory, BadOnesAreRefused) {
  const auto nothing = [](const CustomCall&) {};
  EXPECT_THAT(message_of([&] { source("gpu", {.shape = {1}}, nothing, "cuda:0"); }),
              HasSubstr("[gpu] a source makes data on the CPU, not on cuda:0"));
  EXPECT_THAT(message_of([&] { source("none", {.shape = {1}}, nullptr); }), HasSubstr("[none] there is no kernel"));
  EXPECT_THAT(message_of([&] { source_many("none", {}, nothing); }), HasSubstr("[none] writes nothing"));
  EXPECT_THAT(message_of([] { set_engine_options({.source_threads = 0}); }),
              HasSubstr("source_threads must be 1 to 64, got 0"));
}

}  // namespace
}  // namespace asyncgrad::tests
