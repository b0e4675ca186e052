#include "asyncgrad/core/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/random_program.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr EngineOptions dry{.schedule = Schedule::dry_run};

class DryRun : public testing::Test {
 protected:
  ~DryRun() override { set_engine_options({}); }

  static std::int64_t real_peak(const std::function<void()>& program, const EngineOptions& options = {}) {
    set_engine_options(options);
    reset_peaks();
    program();
    wait_all();
    return memory_figures().serial_peak_bytes;
  }
  // Compares a dry run of the program with every way of really running it.
  static void compare(const std::function<void()>& program) {
    set_engine_options(dry);
    reset_peaks();
    const std::int64_t live_before = memory_figures().live_bytes;
    program();
    const DryRunReport report = dry_run_report();
    EXPECT_EQ(report.serial_peak_bytes, memory_figures().serial_peak_bytes);
    EXPECT_EQ(memory_figures().peak_live_bytes, live_before) << "no memory was taken";
    EXPECT_EQ(report.serial_peak_bytes, real_peak(program));
    EXPECT_EQ(report.serial_peak_bytes, real_peak(program, {.inline_tiny = false}));
    const std::int64_t before = engine_figures().operations;
    EXPECT_EQ(report.serial_peak_bytes, real_peak(program, {.schedule = Schedule::immediate}));
    EXPECT_EQ(report.operations, engine_figures().operations - before);
    if (report.serial_peak_bytes > live_before) {
      EXPECT_EQ(memory_figures().peak_live_bytes, report.serial_peak_bytes);
    }
  }
};

void train() {
  const nn::Sequential net{nn::Dense(32, 64, relu), nn::Dense(64, 16, relu), nn::Dense(16, 1)};
  optim::SGD sgd(nn::parameters(net), {.lr = 0.01, .momentum = 0.9});
  for (int batch = 0; batch < 4; ++batch) {
    const Tensor x = randn({64, 32}), y = ones({64, 1});
    const Tensor loss = mean(nn::l2_loss(net(x), y));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    loss.wait();
  }
}

TEST_F(DryRun, PeakIsThatOfARealTraining) { compare(train); }

TEST_F(DryRun, PeakIsThatOfARealProgramOfViewsTypesAndWritesInPlace) {
  compare([] {
    const Inference inference;
    Tensor x = Tensor::from(std::vector<double>(1000, 0.5), {10, 100});
    x.slice(2, 5).copy_(x.slice(4, 7) * 0.5);
    x += 1;
    const Tensor labels = argmax(x, 1), narrow = x.to(DType::float32);
    const Tensor loss = nn::softmax_cross_entropy(narrow, labels);
    Tensor y = x.reshape({100, 10}).transpose().clone();
    x = Tensor();
    y.fill_(3);
    y = y * y + sum(y, 0, true);
    const Tensor picked = take(y, Tensor::from(std::vector<std::int64_t>{1, 2}, {2}));
    mark().wait();
  });
}

TEST_F(DryRun, PeakIsThatOfRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const bool trains = seed >= 40;
    const ProgramOptions program{.seed = seed, .steps = trains ? 8 : 60, .trains = trains};
    const Outcome counted = run_program(program, dry);
    EXPECT_EQ(counted.memory[0].peak_live - counted.memory[0].left_live, 0);
    EXPECT_TRUE(counted.has_serial_peaks_of(run_program(program, {})));
  }
}

TEST_F(DryRun, NamesTheOperationAtThePeak) {
  set_engine_options(dry);
  {
    const Inference inference;
    const Tensor x = ones({100, 10});
    const Tensor y = matmul(x, ones({10, 1000}));
    const Tensor z = sum(y);
  }
  const DryRunReport report = dry_run_report();
  EXPECT_EQ(report.operations, 4);
  EXPECT_EQ(report.peak_operation, "matmul") << "the second factor is gone after it";
  EXPECT_EQ(report.peak_operands, "to (100, 1000), (100, 10), (10, 1000)");
  EXPECT_THAT(report.peak_queued_at, HasSubstr("dry_run_test.cpp:"));
  EXPECT_THAT(report.str(), AllOf(HasSubstr("4 operations"), HasSubstr("[matmul] of to (100, 1000), (100, 10)")));
}

TEST_F(DryRun, DataThatIsHandedOverCounts) {
  set_engine_options(dry);
  const Tensor x = Tensor::from(std::vector<float>(1024), {1024});
  EXPECT_EQ(dry_run_report().peak_operation, "from");
  EXPECT_EQ(dry_run_report().operations, 0);
  EXPECT_EQ(memory_figures().serial_live_bytes - memory_figures().live_bytes, 4096);
}

TEST_F(DryRun, ResettingThePeaksStartsAnew) {
  set_engine_options(dry);
  { const Tensor large = ones({1000, 1000}); }
  reset_peaks();
  EXPECT_EQ(dry_run_report().serial_peak_bytes, memory_figures().serial_live_bytes);
  EXPECT_THAT(dry_run_report().str(), HasSubstr("0 operations"));
  const Tensor small = ones({16});
  EXPECT_EQ(dry_run_report().serial_peak_bytes, memory_figures().serial_live_bytes);
  EXPECT_EQ(dry_run_report().operations, 1);
}

TEST_F(DryRun, ValuesDoNotExist) {
  const Tensor real = ones({1});
  set_engine_options(dry);
  const Tensor x = ones({1});
  x.wait();
  wait_all();
  mark().wait();
  EXPECT_EQ(message_of([&] { x.item(); }),
            "[item] values do not exist under Schedule::dry_run; set another schedule to compute them");
  EXPECT_EQ(message_of([&] { real.to_vector<float>(); }),
            "[to_vector] values do not exist under Schedule::dry_run; set another schedule to compute them");
  std::ostringstream out;
  EXPECT_THAT(message_of([&] { out << x; }), HasSubstr("values do not exist under Schedule::dry_run"));
  EXPECT_EQ(message_of([&] { matmul(x, ones({3})); }).substr(0, 8), "[matmul]")
      << "what is wrong still throws at the call";
}

TEST_F(DryRun, WhatWasLeftUncomputedCannotBeUsedLater) {
  const Inference inference;
  set_engine_options(dry);
  Tensor x = ones({100, 100});
  const Tensor data = Tensor::from(std::vector<float>{1, 2}, {2});
  for (const bool inline_tiny : {true, false}) {
    set_engine_options({.inline_tiny = inline_tiny});
    const auto message = HasSubstr("queued under Schedule::dry_run");
    EXPECT_THAT(message_of([&] { x.wait(); }), message);
    EXPECT_THAT(message_of([&] { (x * 2 + 1).wait(); }), message);
    EXPECT_THAT(message_of([&] { (data + 1).wait(); }), message);
    EXPECT_THAT(message_of([&] { static_cast<void>(data.to_vector<float>()); }), message);
    x.slice(0, 50).fill_(1);
    EXPECT_THAT(message_of([&] { x.wait(); }), message) << "half of it";
    recover();
    EXPECT_THAT(message_of([&] { x.wait(); }), message);
    wait_all();
  }
  x.fill_(2);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(10000, 2)) << "a complete overwrite makes a value";
}

TEST_F(DryRun, ParametersAreAsTheyWereAfterRecover) {
  set_engine_options({});
  Tensor weight = parameter(full({4}, 3));
  optim::SGD sgd({weight}, {.lr = 0.5});
  const auto step = [&] {
    sgd.zero_grad();
    sum(weight * weight).backward();
    sgd.step();
  };
  wait_all();
  set_engine_options(dry);
  step();
  set_engine_options({});
  EXPECT_THAT(message_of([&] { weight.wait(); }), HasSubstr("Schedule::dry_run"));
  EXPECT_EQ(recover(), 0);
  EXPECT_EQ(weight.to_vector<float>(), std::vector<float>(4, 3));
  step();
  EXPECT_EQ(weight.to_vector<float>(), std::vector<float>(4, 0));
}

}  // namespace
}  // namespace asyncgrad::tests
