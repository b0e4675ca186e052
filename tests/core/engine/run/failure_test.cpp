// The effects of a failed operation on values, waits and messages.
#include "asyncgrad/core/engine/run/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"
#include "tests/support/message_of.h"
#include "tests/support/print_options.h"

namespace asyncgrad::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Floats = std::vector<float>;

const std::string nothing_thrown = "nothing was thrown";

std::string message_of_wait(const Tensor& tensor) {
  return message_of([&] { tensor.wait(); });
}
std::string here(int line) { return "failure_test.cpp:" + std::to_string(line); }

// The row 9, which a tensor of 8 rows lacks, is found only when the operation runs.
Tensor rows(std::int64_t wrong = 9) { return Tensor::from(std::vector<std::int64_t>{0, wrong}, {2}); }
Tensor bad_value() { return sum(take(ones({8, 3}), rows()), 0); }

class FailureTest : public testing::TestWithParam<EngineOptions> {
 protected:
  FailureTest() { set_engine_options(GetParam()); }
  ~FailureTest() override {
    recover();
    set_engine_options({});
  }
};

TEST_P(FailureTest, SurfacesAtTheWaitWithNameShapesAndLine) {
  const Tensor x = ones({8, 3});
  const int line = __LINE__ + 1;
  const Tensor bad = take(x, rows());
  EXPECT_EQ(bad.shape(), (Shape{2, 3}));
  const std::string expected =
      "[take] index 9 at position 1 is outside 8 rows, which are numbered from 0\n  operands: to (2, 3), (8, 3), (2)\n"
      "  queued at " +
      here(line);
  EXPECT_EQ(message_of_wait(bad), expected);
  EXPECT_EQ(message_of_wait(bad), expected);  // as often as one asks
  EXPECT_EQ(message_of([&] { static_cast<void>(bad.to_vector<float>()); }), expected);
  EXPECT_EQ(x.to_vector<float>(), Floats(24, 1));
}

TEST_P(FailureTest, DependentsThrowTheFirstCauseAndOthersGoOn) {
  const Tensor first = take(ones({8, 3}), rows(10));
  const Tensor second = take(ones({8, 3}), rows(11));
  const Tensor other = ones({2, 3}) * 4;
  const Tensor depends = exp((second + first) * other);
  EXPECT_THAT(message_of_wait(depends), StartsWith("[take] index 10"));
  EXPECT_THAT(message_of_wait(second), StartsWith("[take] index 11"));
  EXPECT_EQ(other.to_vector<float>(), Floats(6, 4));
}

TEST_P(FailureTest, WaitAllThrowsTheOldestThatNobodyWasToldOf) {
  const Tensor first = take(ones({8, 3}), rows(10));
  const Tensor second = take(ones({8, 3}), rows(11));
  const Tensor third = take(ones({8, 3}), rows(12));
  EXPECT_THAT(message_of_wait(second), StartsWith("[take] index 11"));
  EXPECT_THAT(message_of([] { wait_all(); }), StartsWith("[take] index 10"));
  EXPECT_THAT(message_of([] { wait_all(); }), StartsWith("[take] index 12"));
  EXPECT_EQ(message_of([] { wait_all(); }), nothing_thrown);
  EXPECT_THAT(message_of_wait(first), StartsWith("[take] index 10"));  // its value has not become better
}

TEST_P(FailureTest, AMarkThrowsNothing) {
  const Tensor bad = bad_value();
  EXPECT_EQ(message_of([] { mark().wait(); }), nothing_thrown);
  EXPECT_EQ(recover(), 1);
  EXPECT_EQ(recover(), 0);
  EXPECT_EQ(message_of([] { wait_all(); }), nothing_thrown);
}

TEST_P(FailureTest, RecoverCountsUnreportedFailures) {
  const Tensor reported = bad_value(), unreported = bad_value(), also_unreported = bad_value();
  EXPECT_THAT(message_of_wait(reported), HasSubstr("index 9"));
  EXPECT_EQ(recover(), 2);
}

TEST_P(FailureTest, ASkippedUpdateKeepsTheOldBytes) {
  Tensor x = full({3}, 5);
  x += bad_value();
  x *= 2;  // skipped as well
  const Tensor y = x + 1;
  EXPECT_THAT(message_of_wait(x), StartsWith("[take] index 9"));
  recover();
  EXPECT_EQ(x.to_vector<float>(), Floats(3, 5));
  EXPECT_THAT(message_of_wait(y), StartsWith("[take] index 9"));  // never computed: stays failed
  x += 1;
  EXPECT_EQ(x.to_vector<float>(), Floats(3, 6));
}

TEST_P(FailureTest, AWholeOverwriteCures) {
  Tensor never = bad_value(), updated = full({3}, 5);
  updated += never;
  never.fill_(1);
  updated.copy_(full({3}, 2));
  EXPECT_EQ(never.to_vector<float>(), Floats(3, 1));
  EXPECT_EQ(updated.to_vector<float>(), Floats(3, 2));
  EXPECT_EQ((never + updated).to_vector<float>(), Floats(3, 3));
}

TEST_P(FailureTest, APartialOverwriteDoesNotCure) {
  Tensor never = bad_value();
  never.slice(0, 2).fill_(1);  // of a tensor of 12 bytes: fewer than a cache line
  EXPECT_THAT(message_of_wait(never), StartsWith("[take] index 9"));
  never.slice(2, 3).fill_(1);
  EXPECT_THAT(message_of_wait(never), StartsWith("[take] index 9"));
}

TEST_P(FailureTest, OldBytesAreNotRestoredOverNewOnes) {
  Tensor x = full({3}, 5);
  x += bad_value();
  x.copy_(full({3}, 2));  // cured
  x += bad_value();       // and failed again
  EXPECT_THAT(message_of_wait(x), HasSubstr("index 9"));
  recover();
  EXPECT_EQ(x.to_vector<float>(), Floats(3, 2));
}

TEST_P(FailureTest, AFailedTensorMayBeDropped) {
  const std::int64_t before = memory_figures().live_bytes;
  for (int i = 0; i < 50; ++i) {
    Tensor x = full({3}, 5);
    x += bad_value();
    if (i % 7 == 0) {
      EXPECT_THAT(message_of_wait(x), HasSubstr("index 9"));
    }
    if (i % 11 == 0) recover();
  }
  EXPECT_GT(recover(), 0);
  EXPECT_EQ(memory_figures().live_bytes, before);
}

// One of two gradients is bad. The update of the group is one operation, so that both parameters stay as they were.
TEST_P(FailureTest, AGroupUpdateIsAllOrNothing) {
  const auto train = [](bool fails) {
    Tensor first = parameter(full({4}, 1)), second = parameter(full({8, 3}, 2));
    optim::SGD sgd({first, second}, {.lr = 0.1, .momentum = 0.9});
    for (int step = 0; step < 3; ++step) {
      sgd.zero_grad();
      if (step == 1 && fails) {
        (sum(square(first)) + sum(take(second, rows()))).backward();
        sgd.step();
        EXPECT_THAT(message_of_wait(first), HasSubstr("index 9"));
        EXPECT_THAT(message_of_wait(second), HasSubstr("index 9"));
        recover();
        sgd.zero_grad();
      }
      (sum(square(first)) + sum(square(second))).backward();
      sgd.step();
    }
    Floats all = first.to_vector<float>();
    const Floats rest = second.to_vector<float>();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  EXPECT_EQ(train(true), train(false));
}

// The gradient had no value before, so that recover() must not leave it the zeros that it was to be added to.
TEST_P(FailureTest, AGradientThatWasNeverComputedCountsAsNoneAfterRecover) {
  const Tensor x = parameter(ones({8, 3})), y = parameter(ones({8, 3}));
  (sum(take(x, rows())) + sum(y.slice(0, 1) * take(y, rows()))).backward();
  const std::vector<Tensor> gradients{x.grad(), y.grad()};
  for (const Tensor& gradient : gradients) EXPECT_THAT(message_of_wait(gradient), HasSubstr("index 9"));
  recover();
  for (const Tensor& gradient : gradients) EXPECT_THAT(message_of_wait(gradient), HasSubstr("index 9"));
  for (const Tensor& leaf : {x, y}) {
    EXPECT_FALSE(leaf.grad().defined());
    EXPECT_EQ(message_of_wait(leaf), "nothing was thrown");
  }
}

TEST_P(FailureTest, NamesTheLayer) {
  const nn::Sequential inner{[](const Tensor& x) { return sum(take(x, rows()), 0); }};
  const nn::Sequential net{relu, inner};
  EXPECT_THAT(message_of_wait(net(ones({8, 3}))), AllOf(StartsWith("[take] index 9"), HasSubstr("in layer 1.0")));
}

TEST_P(FailureTest, OfAGradientNamesBothLines) {
  // The forward pass reads good rows. Then they are overwritten without the tape's knowledge, and the gradient finds
  // bad ones.
  Tensor indices = rows(0);
  const Tensor x = parameter(ones({8, 3}));
  const int forward_line = __LINE__ + 1;
  const Tensor loss = sum(take(x, indices));
  const detail::OperandRef overwritten[] = {detail::writes(indices)};
  detail::Number nine;
  nine.integer = 9;
  detail::submit(detail::Op::fill, overwritten, detail::FillAttributes{nine}, Location::current());
  indices.impl()->storage->version.fetch_sub(1);
  loss.wait();
  const int backward_line = __LINE__ + 1;
  loss.backward();
  EXPECT_THAT(message_of_wait(x.grad()),
              AllOf(StartsWith("[take_grad] index 9"), HasSubstr("queued at " + here(forward_line)),
                    HasSubstr("backward() at " + here(backward_line))));
}

const EngineOptions ways[] = {
    {.workers = 2, .inline_tiny = true},
    {.workers = 2, .inline_tiny = false},
    {.workers = 1, .memory_budget = MemoryBudget::bytes(0), .inline_tiny = false},
    {.workers = 2, .schedule = Schedule::first_ready, .inline_tiny = false},
};
INSTANTIATE_TEST_SUITE_P(Ways, FailureTest, testing::ValuesIn(ways));

TEST(Failure, IsThrownAtTheCallUnderImmediate) {
  set_engine_options({.schedule = Schedule::immediate, .inline_tiny = false});
  Tensor x = ones({8, 3});
  EXPECT_THAT(message_of([&] { static_cast<void>(take(x, rows())); }), StartsWith("[take] index 9"));
  EXPECT_EQ(message_of([] { wait_all(); }), nothing_thrown);
  set_engine_options({.schedule = Schedule::immediate});
  EXPECT_THAT(message_of([&] { static_cast<void>(take(x, rows())); }), StartsWith("[take] index 9"));
  recover();
  set_engine_options({});
}

// The tensor has 2^48 bytes, more than a process can address, whatever the system promises.
TEST(Failure, OutOfMemorySurfacesAtTheWait) {
  for (const bool inline_tiny : {true, false}) {
    set_engine_options({.workers = 2, .inline_tiny = inline_tiny});
    const std::int64_t before = memory_figures().live_bytes;
    {
      Tensor fine = ones({100});
      const Tensor huge = zeros({std::int64_t{1} << 45}, {.dtype = float64});
      const Tensor also_fine = fine + 1;
      fine += sum(huge).to(float32);
      EXPECT_THAT(message_of_wait(huge),
                  AllOf(StartsWith("[fill] out of memory: 281474976710656 bytes were asked for, "),
                        HasSubstr("operands: to (35184372088832)"), HasSubstr("failure_test.cpp:")));
      EXPECT_EQ(also_fine.to_vector<float>(), Floats(100, 2));
      recover();
      EXPECT_EQ(fine.to_vector<float>(), Floats(100, 1));
    }
    mark().wait();
    EXPECT_EQ(memory_figures().live_bytes, before);
  }
  set_engine_options({});
}

TEST(Failure, WhatAskedForTooMuchDoesNotWidenTheBudgetForGood) {
  set_engine_options({.workers = 2});
  const std::int64_t before = memory_figures().budget_bytes;
  EXPECT_THAT(message_of([] { zeros({std::int64_t{1} << 45}, {.dtype = float64}).wait(); }),
              HasSubstr("out of memory"));
  EXPECT_GT(memory_figures().budget_bytes, std::int64_t{1} << 48);
  recover();
  EXPECT_EQ(memory_figures().budget_bytes, before);
  set_engine_options({});
}

// Two threads make operations fail while a third one waits for all again and again, which reports failures.
TEST(Failure, MayBeForgottenAtAnyMoment) {
  set_engine_options({.workers = 2, .inline_tiny = false});
  std::atomic<bool> over{false};
  std::thread telling([&] {
    while (!over.load()) message_of([] { wait_all(); });
  });
  const auto fail = [] {
    for (int i = 0; i < 300; ++i) {
      const Tensor bad = bad_value();
      EXPECT_THAT(message_of_wait(bad), StartsWith("[take] index 9"));
    }
  };
  std::thread other(fail);
  fail();
  other.join();
  over.store(true);
  telling.join();
  recover();
  set_engine_options({});
}

// One thread calls recover() all the time, while another poisons values, waits for them, overwrites and drops them.
TEST(Failure, MayBeRecoveredFromAtAnyMoment) {
  set_engine_options({.workers = 2});
  std::atomic<bool> over{false};
  std::thread recovering([&] {
    while (!over.load()) recover();
  });
  for (int i = 0; i < 2000; ++i) {
    Tensor y = full({3}, 7);
    y += bad_value();
    if (i % 3 == 0) {
      EXPECT_THAT(message_of_wait(y), testing::AnyOf(StartsWith("[take] index 9"), nothing_thrown));
    }
    if (i % 3 == 1) {
      y.fill_(2);
      EXPECT_EQ(y.to_vector<float>(), Floats(3, 2));
    }
  }
  over.store(true);
  recovering.join();
  recover();
  set_engine_options({});
}

TEST(Failure, TheOldestHundredAreKeptAndTheOthersCounted) {
  set_engine_options({.workers = 2});
  const auto fail = [] {
    for (int i = 0; i < 250; ++i) static_cast<void>(take(ones({8, 3}), rows(1000 + i)));
  };
  fail();
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(message_of([] { wait_all(); }), StartsWith("[take] index " + std::to_string(1000 + i)));
  }
  EXPECT_THAT(message_of([] { wait_all(); }), StartsWith("[engine] 150 more operations failed"));
  EXPECT_EQ(message_of([] { wait_all(); }), nothing_thrown);
  fail();
  const Tensor last = take(ones({8, 3}), rows());
  EXPECT_THAT(message_of_wait(last), StartsWith("[take] index 9"));  // a value keeps its failure
  EXPECT_EQ(recover(), 250);
  EXPECT_EQ(recover(), 0);
  EXPECT_THAT(message_of_wait(last), StartsWith("[take] index 9"));
  EXPECT_EQ(recover(), 0);
  set_engine_options({});
}

TEST(Failure, IsReportedEvenWithoutMemoryForAMessage) {
  detail::Failures failures;
  for (int round = 0; round < 2; ++round) {
    detail::Failure* const first = failures.add(3, "");
    detail::Failure* const second = failures.add(5, "");
    EXPECT_THAT(message_of([&] { failures.deliver_oldest(); }), HasSubstr("no memory to say which and why"));
    EXPECT_EQ(failures.recover(), 1);
    EXPECT_EQ(message_of([&] { failures.deliver_oldest(); }), nothing_thrown);
    failures.let_go(*first);
    failures.let_go(*second);
  }
}

}  // namespace
}  // namespace asyncgrad::tests
