// Operations of one's own, as a user writes them.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "tests/autograd/gradient_check.h"
#include "tests/support/own_operations.h"
#include "tests/support/print_options.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

Tensor twice(const Tensor& x, CustomOptions options = {}) {
  return custom(
      "twice", {.shape = x.shape()}, {x},
      [](const CustomCall& call) {
        const auto in = call.input<float>(0);
        const auto out = call.output<float>();
        const auto [begin, end] = call.part_of(static_cast<std::int64_t>(in.size()));
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) out[i] = 2 * in[i];
      },
      std::move(options));
}

class Custom : public testing::TestWithParam<EngineOptions> {
 protected:
  void SetUp() override { set_engine_options(GetParam()); }
  void TearDown() override {
    recover();
    set_engine_options({});
  }
};

TEST_P(Custom, AFusedGeluHasItsGradient) {
  check_gradients([](const std::vector<Tensor>& in) { return fused_gelu<double>(in[0]); }, {random64({5, 7}, 1)});
  const Tensor x = random64({4, 9}, 2);
  expect_near(fused_gelu<double>(x), values(gelu(x)), 1e-12);
}

TEST_P(Custom, TakesEveryTypeOfElements) {
  for (const DType dtype : {float32, float64, bfloat16, int64, int32, uint8, boolean}) {
    SCOPED_TRACE(name(dtype));
    const Tensor x = Tensor::from({1.0, 0.0, 1.0}, {3}).to(dtype);
    const Tensor y = custom("copied", {.shape = {3}, .dtype = dtype}, {x}, [dtype](const CustomCall& call) {
      detail::visit_dtype(dtype,
                          [&call]<class T>(T) { std::ranges::copy(call.input<T>(0), call.output<T>().begin()); });
    });
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(values(y), (std::vector<double>{1, 0, 1}));
  }
}

TEST_P(Custom, AGatherOfRowsHasItsGradient) {
  const Tensor numbers = int64_tensor({2, 0, 2, 1}, {4});
  check_gradients([&](const std::vector<Tensor>& in) { return rows_of<double>(in[0], numbers); },
                  {random64({3, 4}, 3)});
}

TEST_P(Custom, ManyTilesAreOneOperation) {
  for (const std::int64_t numel : {0, 1, 2, 1000, 100'000}) {
    const Tensor x = arange(0, numel);
    const std::vector<float> y = twice(x, {.tiles = 7}).to_vector<float>();
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 2 * static_cast<float>(i));
    EXPECT_EQ(y.size(), static_cast<std::size_t>(numel));
  }
}

TEST_P(Custom, DependsOnWhatItsOperandsDependOn) {
  Tensor x = zeros({1000});
  std::vector<Tensor> results;
  for (int i = 0; i < 20; ++i) {
    x += 1;
    results.push_back(twice(x));
    custom_many("increment", {}, {x},
                [](const CustomCall& call) {
                  for (float& value : call.in_place<float>(0)) value += 1;
                },
                {.in_place = {0}});
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].to_vector<float>(), std::vector<float>(1000, 2 * (2 * static_cast<float>(i) + 1)));
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(1000, 40));
}

TEST_P(Custom, HasAnyNumberOfOutputsAndInputs) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 20; ++i) inputs.push_back(full({3}, i));
  const std::vector<Tensor> results =
      custom_many("sum_and_count", {{.shape = {3}}, {.shape = {}, .dtype = int64}}, inputs, [](const CustomCall& call) {
        std::ranges::fill(call.output<float>(0), 0.0F);
        for (int i = 0; i < 20; ++i) {
          const auto in = call.input<float>(i);
          for (std::size_t j = 0; j < 3; ++j) call.output<float>(0)[j] += in[j];
        }
        call.output<std::int64_t>(1)[0] = 20;
      });
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{190, 190, 190}));
  EXPECT_EQ(results[1].item(), 20);
}

TEST_P(Custom, HasScratchOfItsOwn) {
  const Tensor x = custom("scratch", {.shape = {64}}, {},
                          [](const CustomCall& call) {
                            const std::span<std::byte> scratch = call.scratch();
                            std::memset(scratch.data(), 1, scratch.size());
                            const auto [begin, end] = call.part_of(64);
                            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                              call.output<float>()[i] = static_cast<float>(scratch.size());
                            }
                          },
                          {.tiles = 4, .scratch_bytes = 1000});
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(64, 1000));
}

TEST_P(Custom, AnExceptionIsTheOperationsError) {
  const std::string message = message_of([] {
    const Tensor bad =
        custom("unlucky", {.shape = {2}}, {}, [](const CustomCall&) { throw std::runtime_error("no luck"); });
    (bad + 1).wait();
  });
  EXPECT_THAT(message, HasSubstr("[unlucky] no luck"));
  EXPECT_THAT(message, HasSubstr("custom_test.cpp"));
  recover();
  EXPECT_EQ(twice(ones({1})).item(), 2);
}

// The error of an operation with this kernel, with one input of three elements and one output of two.
std::string message_from(const std::function<void(const CustomCall&)>& kernel) {
  const std::string message = message_of([&] { custom("mine", {.shape = {2}}, {ones({3})}, kernel).wait(); });
  recover();
  return message;
}

TEST_P(Custom, AKernelMayNeitherWaitNorQueue) {
  const Tensor x = ones({});
  x.wait();
  EXPECT_THAT(message_from([x](const CustomCall&) { static_cast<void>(x.item()); }),
              HasSubstr("a wait inside an operation"));
  EXPECT_THAT(message_from([x](const CustomCall&) { static_cast<void>(x + 1); }),
              HasSubstr("a queueing call inside an operation"));
  EXPECT_THAT(message_from([](const CustomCall&) { static_cast<void>(engine_figures()); }),
              HasSubstr("a look at the engine inside an operation"));
}

TEST_P(Custom, WhatIsAskedForMustBeThere) {
  EXPECT_THAT(message_from([](const CustomCall& call) { call.input<float>(1); }),
              HasSubstr("input 1 was asked for, of 1"));
  EXPECT_THAT(message_from([](const CustomCall& call) { call.output<float>(-1); }),
              HasSubstr("output -1 was asked for, of 1"));
  EXPECT_THAT(message_from([](const CustomCall& call) { call.input<double>(0); }),
              HasSubstr("input 0 is float32 (3), and was asked for as float64"));
  EXPECT_THAT(message_from([](const CustomCall& call) { call.in_place<float>(0); }),
              HasSubstr("input 0 is not among CustomOptions::in_place"));
}

// The objects that a kernel has captured live until its operation has ended, and no longer.
TEST_P(Custom, WhatItCapturesGoesWithIt) {
  auto captured = std::make_shared<int>(3);
  const std::weak_ptr<int> watched = captured;
  const Tensor x = custom("captures", {.shape = {}}, {}, [captured = std::move(captured)](const CustomCall& call) {
    call.output<float>()[0] = static_cast<float>(*captured);
  });
  EXPECT_EQ(x.item(), 3);
  set_engine_options(GetParam());  // its thread is done with it by then
  EXPECT_TRUE(watched.expired());
}

INSTANTIATE_TEST_SUITE_P(Ways, Custom,
                         testing::Values(EngineOptions{}, EngineOptions{.inline_tiny = false},
                                         EngineOptions{.schedule = Schedule::first_ready, .inline_tiny = false},
                                         EngineOptions{.schedule = Schedule::immediate},
                                         EngineOptions{.workers = 1, .memory_budget = MemoryBudget::bytes(1)}),
                         testing::PrintToStringParamName{});

TEST(CustomErrors, AreThrownAtTheCall) {
  const auto kernel = [](const CustomCall&) {};
  const Tensor x = ones({2});
  const auto call = [&](const std::vector<Tensor>& inputs, CustomOptions options, std::string_view name = "mine") {
    return message_of([&] { custom(name, {.shape = {2}}, inputs, kernel, std::move(options)); });
  };
  EXPECT_EQ(call({x}, {}, ""), "[custom] the name is empty");
  EXPECT_THAT(call({x}, {.tiles = 0}), HasSubstr("[mine] CustomOptions::tiles is 0, not 1 to 65535"));
  EXPECT_THAT(call({x}, {.scratch_bytes = -1}), HasSubstr("scratch_bytes is -1"));
  EXPECT_THAT(call({x}, {.cost = -5}), HasSubstr("cost must be at least 0, got -5"));
  EXPECT_THAT(call({x}, {.in_place = {1}}), HasSubstr("in_place names input 1, of 1"));
  EXPECT_THAT(call({x, x.slice(0, 1)}, {.in_place = {0}}), HasSubstr("shares its storage with input 1"));
  EXPECT_THAT(call({Tensor()}, {}), HasSubstr("[mine] a tensor that holds nothing"));
  EXPECT_THAT(call({parameter(ones({2}))}, {}), HasSubstr("input 0 (2) requires a gradient"));
  EXPECT_THAT(message_of([&] { custom("mine", {.shape = {2}}, {x}, nullptr); }), HasSubstr("there is no kernel"));
  EXPECT_THAT(message_of([&] { custom_many("mine", {}, {x}, kernel); }), HasSubstr("[mine] writes nothing"));
  const NoGrad no_grad;
  EXPECT_EQ(twice(parameter(ones({2}))).to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(CustomNames, AreThoseOfProfilesAndDryRuns) {
  profiler::start();
  twice(ones({100'000})).wait();
  EXPECT_THAT(profiler::stop().str(), HasSubstr("twice"));
  set_engine_options({.schedule = Schedule::dry_run});
  const Tensor x = twice(ones({1'000'000}));
  EXPECT_EQ(dry_run_report().peak_operation, "twice");
  set_engine_options({});
}

TEST(WithGradient, MayTakeTheGradientStraightThrough) {
  const Tensor x = parameter(float64_tensor({0.2, 1.7}, {2}));
  sum(with_gradient("through", round(x.detach()), {x}, [](const GradientCall& call) {
    return call.dy() * 3;
  })).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{3, 3}));
}

TEST(WithGradient, MayClipInsideANetwork) {
  const Tensor x = parameter(float64_tensor({0.5, -4, 9}, {3}));
  const Tensor clipped = with_gradient("clip_gradient", x, {x},
                                       [](const GradientCall& call) { return minimum(maximum(call.dy(), -1), 1); });
  sum(clipped * float64_tensor({0.5, 7, -7}, {3})).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<double>{0.5, 1, -1}));
}

TEST(WithGradient, HasAnyNumberOfInputs) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 7; ++i) inputs.push_back(parameter(full({2}, i, {.dtype = float64})));
  inputs[3] = inputs[3].detach();
  const Tensor value = zeros({2}, {.dtype = float64});
  sum(with_gradient("seven", value, inputs, [](const GradientCall& call) {
    std::vector<Tensor> gradients(7);
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(call.wants(i), i != 3);
      if (i != 5) gradients[static_cast<std::size_t>(i)] = call.dy() * i;
    }
    return gradients;
  })).backward();
  for (int i = 0; i < 7; ++i) {
    const Tensor gradient = inputs[static_cast<std::size_t>(i)].grad();
    if (i == 3 || i == 5) {
      EXPECT_FALSE(gradient.defined());
    } else {
      EXPECT_EQ(values(gradient), (std::vector<double>(2, i)));
    }
  }
}

// A function that records although nobody asked for gradients of the gradients does not leave its history in them.
TEST(WithGradient, KeepsNoHistoryOfGradients) {
  const Tensor x = parameter(full({2}, 3)), w = parameter(full({2}, 2));
  const auto recorded = [&](const GradientCall& call) {
    const EnableGrad recording;
    return std::vector<Tensor>{w * call.dy()};
  };
  const auto own = [&] { return sum(with_gradient("own", x.detach() * 1, {x}, recorded)); };
  own().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(2, 2));
  EXPECT_FALSE(x.grad().requires_grad());
  EXPECT_FALSE(grad(own(), {x})[0].requires_grad());
}

TEST(WithGradient, FindsThatWhatItSavedWasWritten) {
  const Tensor x = parameter(ones({2}));
  Tensor kept = ones({2});
  const Tensor y =
      sum(with_gradient("keeper", x, {x}, [](const GradientCall& call) { return call.dy() * call.saved(0); }, {kept}));
  kept += 1;
  EXPECT_THAT(message_of([&] { y.backward(); }),
              HasSubstr("[keeper] a tensor that its gradient needs was written in place"));
}

// The sum gives the same tensor to both of its terms, whose order must not matter.
TEST(WithGradient, MayNotWriteIntoTheGradientOfOthers) {
  const auto doubles = [](const GradientCall& call) { return Tensor(call.dy()) *= 2; };
  for (const bool is_first : {false, true}) {
    const Tensor a = parameter(ones({2})), b = parameter(ones({2}));
    const Tensor own = with_gradient("own", a, {a}, doubles), other = b * 1;
    const Tensor y = sum(is_first ? own + other : other + own);
    EXPECT_THAT(message_of([&] { y.backward(); }),
                HasSubstr("[own] the gradient function has written into dy, which may be the gradient of others, too"));
  }
}

TEST(WithGradient, RefusesWrongGradients) {
  const Tensor x = parameter(ones({2}));
  const auto message = [&](const GradientFunction& backward) {
    const Tensor y = sum(with_gradient("wrong", x, {x}, backward));
    return message_of([&] { y.backward(); });
  };
  EXPECT_THAT(message([](const GradientCall&) { return std::vector<Tensor>(2); }),
              HasSubstr("[wrong] the gradient function returned 2 gradients for 1 inputs"));
  EXPECT_THAT(message([](const GradientCall&) { return std::vector{ones({3})}; }),
              HasSubstr("[wrong] the gradient of input 0 has the shape (3), the input (2)"));
  EXPECT_THAT(message([](const GradientCall&) { return std::vector{ones({2}, {.dtype = float64})}; }),
              HasSubstr("[wrong] the gradient of input 0 is float64 on cpu, the input float32 on cpu"));
  EXPECT_THAT(message([](const GradientCall& call) { return std::vector{call.saved(0)}; }),
              HasSubstr("saved tensor 0 was asked for, of 0"));
  EXPECT_THAT(message_of([&] { with_gradient("none", x, {x}, GradientFunction()); }),
              HasSubstr("[none] there is no gradient function"));
  EXPECT_THAT(message_of([] {
                with_gradient("int", zeros({2}, {.dtype = int64}), {}, [](const GradientCall& c) { return c.dy(); });
              }),
              HasSubstr("[int]"));
}

TEST(WithGradient, RecordsNothingUnderNoGrad) {
  const Tensor x = parameter(ones({2}));
  const NoGrad no_grad;
  EXPECT_FALSE(with_gradient("none", x, {x}, [](const GradientCall& call) { return call.dy(); }).requires_grad());
}

// Each function captures the tensor before, and so the whole chain.
TEST(WithGradient, EndsALongChainOfCapturesWithoutRecursion) {
  const Tensor x = parameter(ones({3}));
  for (const bool goes_backward : {false, true}) {
    Tensor y = x * 1;
    for (int i = 0; i < 100'000; ++i) {
      const Tensor before = y;
      y = with_gradient("passed", y.detach() * 1, {y}, [before](const GradientCall& call) { return call.dy(); });
    }
    if (goes_backward) sum(y).backward();
    y = Tensor();
  }
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace asyncgrad::tests
