#include "asyncgrad/nn/running.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

TEST(UpdateRunning, MixesTheValueIn) {
  const Tensor running = full({2}, 8);
  const Tensor value = parameter(full({2}, 2));
  nn::update_running(running, 0.75, value * 2, 0.5);
  EXPECT_EQ(running.to_vector<float>(), std::vector<float>(2, 8));
  nn::update_running(running, 0.25, value, 3);
  EXPECT_EQ(running.to_vector<float>(), std::vector<float>(2, 8));
  nn::update_running(running, 0.5, value, 0);
  EXPECT_EQ(running.to_vector<float>(), std::vector<float>(2, 4));
  EXPECT_FALSE(running.requires_grad());
}

TEST(UpdateRunning, KeepsTheStatisticIfTheValueFails) {
  const Tensor running = full({2}, 8);
  const Tensor fails = custom("fails", {.shape = {2}}, {}, [](const CustomCall&) { throw std::runtime_error("no"); });
  nn::update_running(running, 0.5, fails, 0.5);
  EXPECT_THAT(message_of([&] { running.wait(); }), HasSubstr("[fails] no"));
  recover();
  EXPECT_EQ(running.to_vector<float>(), std::vector<float>(2, 8));
}

TEST(UpdateRunning, RefusesOtherShapesAndTypes) {
  EXPECT_THAT(message_of([] { nn::update_running(zeros({2}), 0.9, ones({3}), 0.1); }),
              HasSubstr("[update_running] running float32 (2) and value float32 (3) differ; both are to have one shape "
                        "and type"));
  EXPECT_THAT(message_of([] { nn::update_running(zeros({2}), 0.9, ones({2}, {.dtype = float64}), 0.1); }),
              HasSubstr("[update_running] running float32 (2) and value float64 (2) differ"));
  EXPECT_THAT(message_of([] { nn::update_running(Tensor(), 0.9, ones({2}), 0.1); }), HasSubstr("[update_running]"));
}

}  // namespace
}  // namespace asyncgrad::tests
