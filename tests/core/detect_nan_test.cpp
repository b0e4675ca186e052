#include "asyncgrad/core/detect_nan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"
#include "tests/support/print_options.h"

namespace asyncgrad::tests {
namespace {

const float nan = std::numeric_limits<float>::quiet_NaN();

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t from = 0;
  for (const std::string& part : parts) {
    const std::size_t at = text.find(part, from);
    ASSERT_NE(at, std::string::npos) << "'" << part << "' is not in '" << text << "'";
    from = at + part.size();
  }
}

class DetectNanTest : public testing::TestWithParam<EngineOptions> {
 protected:
  DetectNanTest() { set_engine_options(GetParam()); }
  ~DetectNanTest() override {
    recover();
    set_engine_options({});
  }
  // The message of the first wait after `queue`, or of a call in it under Schedule::immediate.
  template <class Queue>
  static std::string first_message(Queue queue) {
    return message_of([&] {
      const Tensor result = queue();
      result.wait();
    });
  }
};

TEST_P(DetectNanTest, NamesTheFirstOperation) {
  for (const std::int64_t rows : {1, 2000}) {  // at the call, and in tiles
    const Tensor x = full({rows, 100}, -1);
    const std::string message = first_message([&] {
      const DetectNan detect;
      const LayerScope scope("head");
      const Tensor y = log(x + 0.5);
      const Tensor z = sqrt(x);  // later in the program
      return sum(exp(y) * 2 + z);
    });
    expect_parts(message, {"[log] made NaN: element 0 of float32 (",
                           "operands:", "queued at detect_nan_test.cpp:", "in layer head"});
    recover();
  }
}

TEST_P(DetectNanTest, NamesTheLastElementOfTheLastTile) {
  const Tensor x = ones({3000, 100});
  {
    const Tensor last = x.slice(2999, 3000);
    assign(last, {{1, 99, 100}}, -1);
  }
  const std::string message = first_message([&] {
    const DetectNan detect;
    return sqrt(x);
  });
  expect_parts(message, {"[sqrt] made NaN: element 299999 of float32 (3000, 100)"});
}

TEST_P(DetectNanTest, NamesTheForwardLineOfAGradient) {
  const Tensor x = parameter(zeros({4}));
  const std::string message = first_message([&] {
    const DetectNan detect;
    sum(sqrt(x) * 0).backward();  // 0 / 0
    return x.grad();
  });
  expect_parts(message, {"[sqrt_grad] made NaN: element 0 of float32 (4)",
                         "detect_nan_test.cpp:", "as a gradient for backward() at detect_nan_test.cpp:"});
}

TEST_P(DetectNanTest, SaysWhenAnInputHadIt) {
  const Tensor x = Tensor::from({1.0f, nan, 2.0f}, {3});
  const std::string message = first_message([&] {
    const DetectNan detect;
    return x * 2 + 1;
  });
  expect_parts(message, {"[multiply] passed NaN on: element 1 of float32 (3) is NaN, and element 1 of its input"});
}

TEST_P(DetectNanTest, LooksAtWhatIsWrittenInPlace) {
  Tensor x = zeros({3}, {.dtype = float64});
  const std::string message = first_message([&] {
    const DetectNan detect;
    x *= std::numeric_limits<double>::infinity();
    return x;
  });
  expect_parts(message, {"[multiply] made NaN: element 0 of float64 (3)"});
}

TEST_P(DetectNanTest, LooksAtBfloat16) {
  const std::string message = first_message([] {
    const Tensor x = full({3}, nan);
    const DetectNan detect;
    return x.to(bfloat16);
  });
  expect_parts(message, {"[copy] passed NaN on: element 0 of bfloat16 (3)"});
}

TEST_P(DetectNanTest, LetsPassWhatHasNone) {
  const DetectNan detect;
  const Tensor x = parameter(Tensor::from({-1.0f, 0.0f, 4.0f, std::numeric_limits<float>::infinity()}, {4}));
  const Tensor kept = where(less(x, 0), zeros({4}), x.detach());
  EXPECT_EQ(sum(argmax(kept)).item(), 3);
  const Tensor rows = parameter(zeros({2, 3}));
  sum(norm(rows, 1)).backward();
  EXPECT_EQ(rows.grad().to_vector<float>(), std::vector<float>(6, 0));
  wait_all();
}

TEST_P(DetectNanTest, EndsWithTheScope) {
  const Tensor x = full({3}, -1);
  {
    const DetectNan outer;
    { const DetectNan inner; }
    EXPECT_THROW(sqrt(x).wait(), Error);
  }
  EXPECT_TRUE(std::isnan(sum(sqrt(x)).item()));
  recover();
}

EngineOptions options_of(int workers, Schedule schedule, bool inline_tiny) {
  EngineOptions options;
  options.workers = workers;
  options.schedule = schedule;
  options.inline_tiny = inline_tiny;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Schedules, DetectNanTest,
                         testing::Values(options_of(1, Schedule::oldest_first, true),
                                         options_of(3, Schedule::oldest_first, false),
                                         options_of(3, Schedule::first_ready, false),
                                         options_of(1, Schedule::immediate, true)));

TEST(DetectNanOnTwoDevices, LooksAtCopies) {
  EngineOptions options;
  options.cpu_parts = 2;
  set_engine_options(options);
  const Tensor x = Tensor::from({nan}, {1});
  {
    const DetectNan detect;
    expect_parts(message_of([&] { x.to("cpu:1").wait(); }), {"[copy] passed NaN on"});
  }
  recover();
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::tests
