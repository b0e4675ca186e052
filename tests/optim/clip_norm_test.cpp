#include "asyncgrad/optim/clip_norm.h"

#include <cmath>
#include <limits>

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using tests::message_of;

TEST(ClipNorm, ShortensTogetherAndKeepsTheDirection) {
  const Tensor p = leaf({0}), q = leaf({0, 0}), without = leaf({0});
  give_gradient(p, {3});
  give_gradient(q, {0, 4});
  EXPECT_NEAR(clip_norm({p, without, q}, 0.5).item(), 5, 1e-12);
  EXPECT_NEAR(p.grad().item(), 0.3, 1e-6);
  EXPECT_THAT(q.grad().to_vector<double>(), Pointwise(DoubleNear(1e-6), Values{0, 0.4}));
  EXPECT_FALSE(without.grad().defined());
}

TEST(ClipNorm, LeavesShortOnesAsTheyAre) {
  const Tensor p = leaf({0, 0});
  give_gradient(p, {0.1, 0.7});
  EXPECT_NEAR(clip_norm({p}, 1).item(), std::sqrt(0.5), 1e-12);
  EXPECT_THAT(p.grad().to_vector<double>(), ElementsAre(0.1, 0.7));
}

TEST(ClipNorm, CountsAParameterOnce) {
  const Tensor p = leaf({0});
  give_gradient(p, {4});
  EXPECT_EQ(clip_norm({p, p}, 2).item(), 4);
  EXPECT_NEAR(p.grad().item(), 2, 1e-5);
}

TEST(ClipNorm, IsZeroWithoutGradients) {
  EXPECT_EQ(clip_norm({leaf({1}), leaf({2})}, 1).item(), 0);
  EXPECT_EQ(clip_norm({}, 1).item(), 0);
}

TEST(ClipNorm, MixesTypes) {
  const Tensor single = parameter(zeros({1})), both = leaf({0});
  sum(single * 3).backward();
  give_gradient(both, {4});
  EXPECT_NEAR(clip_norm({single, both}, 1).item(), 5, 1e-12);
  EXPECT_NEAR(single.grad().item(), 0.6, 1e-6);
  EXPECT_NEAR(both.grad().item(), 0.8, 1e-6);
  EXPECT_EQ(single.grad().dtype(), float32);
}

// A call that waited for the values would throw their error itself.
TEST(ClipNorm, DoesNotWait) {
  const Tensor p = parameter(ones({8, 3}));
  sum(take(p, Tensor::from<std::int64_t>({0, 9}, {2}))).backward();
  const Tensor norm = clip_norm({p}, 1);
  EXPECT_THAT(message_of([&] { norm.wait(); }), HasSubstr("index 9 at position 1"));
  recover();
}

TEST(ClipNorm, ShowsNaN) {
  const Tensor p = leaf({0, 0});
  give_gradient(p, {1, std::nan("")});
  EXPECT_TRUE(std::isnan(clip_norm({p}, 1).item()));
  for (const double value : p.grad().to_vector<double>()) EXPECT_TRUE(std::isnan(value));
}

TEST(ClipNorm, ItsLimitIsChecked) {
  EXPECT_EQ(message_of([] { clip_norm({leaf({1})}, -1); }),
            "[clip_norm] max_norm must be finite and not negative, got -1");
  EXPECT_THAT(message_of([] { clip_norm({leaf({1})}, std::nan("")); }), HasSubstr("max_norm must be"));
  EXPECT_THAT(message_of([] { clip_norm({Tensor()}, 1); }), HasSubstr("holds nothing"));
}

TEST(ClipNorm, WorksOnTwoDevices) {
  set_engine_options({.workers = 2, .cpu_parts = 2});
  {
    const Tensor p = parameter(zeros({1}, {.device = "cpu:0"})), q = parameter(zeros({1}, {.device = "cpu:1"}));
    sum(p * 3).backward();
    sum(q * 4).backward();
    EXPECT_NEAR(clip_norm({p, q}, 1).item(), 5, 1e-12);
    EXPECT_NEAR(q.grad().item(), 0.8, 1e-6);
    EXPECT_EQ(q.grad().device(), Device("cpu:1"));
  }
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::optim
