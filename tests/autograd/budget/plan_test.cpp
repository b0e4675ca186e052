// Values that are dropped and computed again. gradient_check.h drops those of every operation, and the random programs
// of core/engine those of whole trainings.
#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "asyncgrad/core/host_memory.h"
#include "tests/autograd/budget/dropping.h"

namespace asyncgrad::tests {
namespace {

using ::testing::HasSubstr;

TEST_F(Dropping, AValueComesBackWithTheSameBits) {
  Tensor x = parameter(random64({40, 50}, 1));
  sum(chain(x)).backward();
  EXPECT_GT(recomputed(), 0);
  const std::vector<std::uint64_t> found = bits(x.grad());
  set_engine_options({});
  x.zero_grad();
  sum(chain(x)).backward();
  EXPECT_EQ(found, bits(x.grad()));
}

TEST_F(Dropping, WhatTheProgramHoldsStays) {
  const Tensor x = parameter(ones({10}));
  const Tensor y = tanh(x), z = sigmoid(y);
  sum(z).backward();
  EXPECT_EQ(recomputed(), 0);
}

// What a leaf held before is lost if the program gave it, and is drawn again if it was random.
TEST_F(Dropping, ALeafThatIsWrittenBringsBackWhatNeedsIt) {
  const std::vector<double> at = values(random64({10}, 1));
  for (const bool is_random : {false, true}) {
    Tensor x = parameter(is_random ? random64({10}, 1) : float64_tensor(at, {10}));
    Tensor y = exp(tanh(x));
    const Tensor z = sum(y * 2);
    y = Tensor();
    ones({1});  // before it, what exp and tanh have saved is dropped
    const std::int64_t before = recomputed();
    {
      const NoGrad no_grad;
      x.fill_(0);
    }
    EXPECT_EQ(recomputed() > before, !is_random);
    z.backward();
    std::vector<double> expected;
    for (const double v : at) expected.push_back(2 * std::exp(std::tanh(v)) * (1 - std::tanh(v) * std::tanh(v)));
    expect_near(x.grad(), expected);
  }
}

TEST_F(Dropping, AValueThatWasWrittenInPlaceIsRefusedAsEver) {
  const Tensor x = parameter(ones({10}));
  const Tensor y = exp(x), z = sum(y * 3);
  y.detach() *= 2;
  EXPECT_THAT(message_of([&] { z.backward(); }), HasSubstr("was written in place afterwards"));
}

TEST_F(Dropping, ASecondBackwardComputesThemOnceMore) {
  Tensor x = parameter(random64({30}, 2));
  const Tensor loss = sum(chain(x));
  backward(loss, {}, {.retain_graph = true});
  const std::vector<double> first = values(x.grad());
  const std::int64_t once = recomputed();
  x.zero_grad();
  loss.backward();
  EXPECT_EQ(values(x.grad()), first);
  EXPECT_GT(recomputed(), once);
}

TEST_F(Dropping, GradientsOfGradientsAreTheSame) {
  const auto second = [] {
    Tensor x = parameter(random64({30}, 2));
    const Tensor first = grad(sum(chain(x)), x, {}, {.create_graph = true})[0];
    return bits(grad(sum(square(first)), x)[0]);
  };
  const std::vector<std::uint64_t> found = second();
  EXPECT_GT(recomputed(), 0);
  set_engine_options({});
  EXPECT_EQ(found, second());
}

TEST_F(Dropping, DropoutDrawsTheSameNumbers) {
  const auto gradient = [] {
    Generator generator(5);
    Tensor x = parameter(random64({200}, 3));
    const Tensor loss = sum(exp(dropout(tanh(x), 0.5, &generator)));
    loss.backward();
    return bits(x.grad());
  };
  const std::vector<std::uint64_t> found = gradient();
  EXPECT_GT(recomputed(), 0);
  set_engine_options({});
  EXPECT_EQ(found, gradient());
}

TEST_F(Dropping, ViewsShareWhatComesBack) {
  Tensor x = parameter(random64({6, 8}, 4));
  const auto loss = [&] {
    const Tensor y = tanh(x);
    return sum(square(y.slice(0, 3)) + exp(y.slice(3, 6).reshape({3, 8})));
  };
  loss().backward();
  const std::vector<std::uint64_t> found = bits(x.grad());
  set_engine_options({});
  x.zero_grad();
  loss().backward();
  EXPECT_EQ(found, bits(x.grad()));
}

TEST_F(Dropping, AnotherThreadMayWalkTheTape) {
  Tensor x = parameter(random64({30}, 2));
  const Tensor loss = sum(chain(x));
  std::thread([&] { loss.backward(); }).join();
  EXPECT_GT(recomputed(), 0);
  EXPECT_TRUE(x.grad().defined());
}

TEST_F(Dropping, AbsentValuesComeBackAfterTheOptionWasSwitchedOff) {
  Tensor x = parameter(random64({30}, 2));
  const Tensor loss = sum(chain(x));
  set_engine_options({});
  loss.backward();
  EXPECT_EQ(bits(x.grad()).size(), 30U);
  EXPECT_GT(recomputed(), 0);
}

// Readers of a value would otherwise be computed from what is written by its address.
TEST_F(Dropping, WhatTheProgramMayWriteByAddressIsNotComputedAgain) {
  for (const bool is_before : {false, true}) {
    const Tensor x = parameter(random64({10}, 1));
    const auto write = [&, at = host_values<double>(x.detach())] { std::ranges::fill(at, 5.0); };
    if (is_before) write();
    const std::vector<double> at = values(x);
    Tensor y = tanh(x);
    const Tensor z = sum(exp(y));
    y = Tensor();
    wait_all();
    if (!is_before) write();
    z.backward();
    std::vector<double> expected;
    for (const double v : at) expected.push_back(std::exp(std::tanh(v)) * (1 - std::tanh(v) * std::tanh(v)));
    expect_near(x.grad(), expected);
  }
}

TEST_F(Dropping, AnAddressThatIsGivenOutLaterBringsBackWhatNeedsIt) {
  const std::vector<double> at = values(random64({10}, 1));
  const Tensor x = parameter(float64_tensor(at, {10}));
  const Tensor z = sum(exp(tanh(x)));
  ones({1});  // before it, what exp and tanh have saved is dropped
  std::ranges::fill(host_values<double>(x.detach()), 5.0);
  z.backward();
  std::vector<double> expected;
  for (const double v : at) expected.push_back(std::exp(std::tanh(v)) * (1 - std::tanh(v) * std::tanh(v)));
  expect_near(x.grad(), expected);
}

// Each value is needed twice by the next, so that computing each reader's again would double at each layer.
TEST_F(Dropping, WorkGrowsNoFasterThanTheNetwork) {
  const auto recomputed_of = [](int layers) {
    reset_peaks();
    Tensor x = parameter(random64({20}, 2)), h = x;
    for (int i = 0; i < layers; ++i) h = tanh(h) * sigmoid(h);
    const Tensor loss = sum(h);
    h = Tensor();
    loss.backward();
    return recomputed();
  };
  const std::int64_t few = recomputed_of(100);
  EXPECT_LT(recomputed_of(400), 5 * few);
}

TEST_F(Dropping, ALongChainEnds) {
  Tensor x = parameter(random64({20}, 2)), h = x;
  for (int i = 0; i < 3000; ++i) h = tanh(h);
  const Tensor loss = sum(h);
  h = Tensor();
  loss.backward();
  EXPECT_EQ(values(x.grad()).size(), 20U);
}

// The index is out of range the first time and again.
TEST_F(Dropping, WhatFailsTwiceIsReportedOnce) {
  const Tensor x = parameter(random64({4, 3}, 1));
  const Tensor index = int64_tensor({0, 9}, {2});
  const Tensor loss = sum(exp(take(x, index, 0)));
  loss.backward();
  EXPECT_GT(recomputed(), 0);
  const std::string message = message_of([] { wait_all(); });
  EXPECT_THAT(message, HasSubstr("plan_test.cpp"));
  EXPECT_NO_THROW(wait_all());
  EXPECT_EQ(message_of([&] { x.grad().wait(); }), message);
}

TEST_F(Dropping, OwnGradientsAndKernelsComeBackIfTheySaySo) {
  for (const bool may : {false, true}) {
    const auto gradient = [&] {
      const Tensor x = parameter(random64({40}, 3));
      const Tensor doubled = custom("doubled", {.shape = {40}, .dtype = float64}, {x.detach()},
                                    [](const CustomCall& call) {
                                      std::ranges::transform(call.input<double>(0), call.output<double>().begin(),
                                                             [](double v) { return 2 * v; });
                                    },
                                    {.recomputable = may});
      Tensor y = with_gradient("own", doubled, {x}, [](const GradientCall& call) { return call.dy() * call.saved(0); },
                               {doubled});
      const Tensor z = sum(y);
      y = Tensor();
      return std::pair(z, x);
    };
    std::pair<Tensor, Tensor> pair = gradient();
    ones({1});
    const std::int64_t before = recomputed();
    pair.first.backward();
    EXPECT_EQ(recomputed() > before, may);
    EXPECT_EQ(bits(pair.second.grad()), bits(pair.second.detach() * 2));
  }
  EXPECT_THAT(message_of([] {
                custom_many("none", {}, {ones({3})}, [](const CustomCall&) {}, {.in_place = {0}, .recomputable = true});
              }),
              HasSubstr("CustomOptions::recomputable and in_place exclude each other"));
}

TEST_F(Dropping, WeightsThatAreWrittenBeforeBackwardKeepTheGradientsOfBefore) {
  const auto gradient = [] {
    Tensor w = parameter(random64({8, 8}, 5));
    const Tensor x = parameter(random64({4, 8}, 6));
    // tanh(x w) needs neither w nor its own operand; the value that exp saves needs both.
    const Tensor loss = sum(exp(tanh(matmul(x, w)).detach() * x));
    {
      const NoGrad no_grad;
      w += 1;
    }
    loss.backward();
    return bits(x.grad());
  };
  const std::vector<std::uint64_t> found = gradient();
  set_engine_options({});
  EXPECT_EQ(found, gradient());
}

TEST_F(Dropping, AGraphOfACallKeepsItsBits) {
  LaunchGraph step("step");
  const auto gradients = [&] {
    Tensor x = parameter(random64({30}, 2));
    for (int i = 0; i < 3; ++i) step([&] { sum(chain(x)).backward(); });
    return bits(x.grad());
  };
  const std::vector<std::uint64_t> found = gradients();
  EXPECT_GT(recomputed(), 0);
  set_engine_options({});
  EXPECT_EQ(found, gradients());
}

TEST_F(Dropping, AProfileNamesWhatIsComputedAgain) {
  const Tensor x = parameter(random64({30}, 1));
  const Tensor loss = sum(chain(x));
  ones({1});  // before it, what the chain has saved is dropped
  profiler::start();
  loss.backward();
  const profiler::Summary summary = profiler::stop();
  const auto count_of = [&](const char* name) {
    const auto times = std::ranges::find(summary.operations, name, &profiler::OperationTimes::name);
    return times == summary.operations.end() ? 0 : times->count;
  };
  EXPECT_GT(count_of("sigmoid, again"), 0);
  EXPECT_EQ(count_of("sigmoid"), 0);
}

// The entries of the queue are used again and again.
TEST_F(Dropping, LaterOperationsAreNotCalledComputedAgain) {
  EngineOptions options = engine_options();
  options.queue_capacity = 1;
  options.inline_tiny = false;
  set_engine_options(options);
  const Tensor x = parameter(random64({30}, 1));
  sum(chain(x)).backward();
  EXPECT_GT(recomputed(), 0);
  const Tensor bad = take(ones({3}), int64_tensor({9}, {1}), 0);
  const std::string message = message_of([&] { bad.wait(); });
  EXPECT_THAT(message, HasSubstr("plan_test.cpp"));
  EXPECT_THAT(message, testing::Not(HasSubstr("computed again")));
}

TEST_F(Dropping, WhatFailsTheSecondTimeAloneNamesBothLines) {
  const Tensor x = parameter(random64({4}, 1));
  int calls = 0;
  Tensor once = custom("once", {.shape = {4}, .dtype = float64}, {x.detach()},
                       [&calls](const CustomCall& call) {
                         if (++calls > 1) throw std::runtime_error("not again");
                         std::ranges::fill(call.output<double>(), 1.0);
                       },
                       {.recomputable = true});
  const auto own = [](const GradientCall& call) { return call.dy() * call.saved(0); };
  Tensor y = with_gradient("own", once, {x}, own, {once});
  const Tensor loss = sum(y);
  y = Tensor();
  once = Tensor();
  ones({1});
  loss.backward();
  const std::string message = message_of([] { wait_all(); });
  EXPECT_THAT(message, HasSubstr("[once] not again"));
  EXPECT_THAT(message, HasSubstr("queued at plan_test.cpp:"));
  EXPECT_THAT(message, HasSubstr(", computed again for backward() at plan_test.cpp:"));
}

TEST_F(Dropping, TheReportOfADryRunSaysWhatHoldsTheBytes) {
  EngineOptions options = engine_options();
  options.schedule = Schedule::dry_run;
  set_engine_options(options);
  reset_peaks();
  Tensor x = parameter(ones({1 << 18}));
  const Tensor held = tanh(x), z = sum(exp(held));
  z.backward();
  const DryRunReport report = dry_run_report();
  EXPECT_GT(report.recomputed_operations, 0);
  EXPECT_GT(report.added_work, 0);
  EXPECT_THAT(report.str(), HasSubstr("compute a value again: + "));
  EXPECT_THAT(report.held, HasSubstr("held: 1048576 bytes by tanh (262144), queued at plan_test.cpp:"));
  EXPECT_THAT(report.held, HasSubstr("; held by the program"));
  EXPECT_THAT(report.held, HasSubstr("held: 1048576 bytes by fill (262144)"));
  EXPECT_THAT(report.held, HasSubstr("; a parameter\n"));
  EXPECT_THAT(report.held, HasSubstr("\n  in all: 1048576 bytes of parameters, "));
}

// What the floor is made of, in a training.
TEST_F(Dropping, TheReportTellsParametersStatesGradientsAndDataApart) {
  Tensor w = parameter(ones({512, 512}));
  optim::Adam adam({w}, {.lr = 0.01});
  const Tensor data = Tensor::from(std::vector<float>(512 * 512, 1), {512, 512});
  const auto step = [&] {
    Tensor h = tanh(matmul(data, w));
    const Tensor loss = mean(h * h);
    h = Tensor();
    loss.backward();
    adam.step();
  };
  step();
  wait_all();
  EngineOptions options = engine_options();
  options.schedule = Schedule::dry_run;
  set_engine_options(options);
  reset_peaks();
  step();
  const std::string held = dry_run_report().held;
  EXPECT_THAT(held, HasSubstr("1048576 bytes of parameters, 2097152 bytes of optimisers' states, "));
  EXPECT_THAT(held, HasSubstr("of gradients, "));
  EXPECT_THAT(held, HasSubstr("held: 1048576 bytes by from (512, 512), queued at plan_test.cpp:"));
}

// A loss from which nobody calls backward() makes each step bring back what its tape has saved.
TEST_F(Dropping, AKeptLossIsNamedWhenAWriteBringsItsValuesBack) {
  std::vector<Warning> given;
  const WarningHandler outer = set_warning_handler([&](const Warning& warning) { given.push_back(warning); });
  Tensor x = parameter(random64({10}, 1)), w = parameter(float64_tensor(values(random64({10}, 2)), {10}));
  Tensor y = exp(tanh(x * w));
  const int line = __LINE__ + 1;
  const Tensor loss = sum(tanh(y));
  y = Tensor();
  ones({1});  // before it, what exp and tanh have saved is dropped
  EXPECT_EQ(engine_figures().recomputed_before_writes, 0);
  for (int step = 0; step < 2; ++step) {
    const NoGrad no_grad;
    w.fill_(step);
  }
  set_warning_handler(outer);
  EXPECT_GT(engine_figures().recomputed_before_writes, 0);
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].line, line);
  EXPECT_THAT(given[0].str(), HasSubstr("[recompute_to_fit] what is computed here is kept with its tape"));
  EXPECT_THAT(given[0].message, HasSubstr("before the write at plan_test.cpp:" + std::to_string(line + 6)));
}

// A running average is computed from the one before, and so from all that ever were.
TEST_F(Dropping, RecipesOfARunningAverageDoNotGrow) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps memory that was freed";
#endif
  Tensor average = zeros({4});
  const auto step = [&] { average = average * 0.9 + ones({4}) * 0.1; };
  for (int i = 0; i < 100; ++i) step();
  wait_all();
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < 100'000; ++i) step();
  wait_all();
  EXPECT_LT(resident_bytes() - before, 4 << 20);
}

}  // namespace
}  // namespace asyncgrad::tests
