#include "asyncgrad/autograd/indexing.h"

#include "tests/autograd/support.h"

namespace asyncgrad {
namespace {

using tests::message_of;

TEST(Take, CopiesRows) {
  const Tensor x = tests::float64_tensor({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = take(x, tests::int64_tensor({2, 0, 2, 1}, {4}));
  EXPECT_EQ(y.shape(), Shape(4, 2));
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{5, 6, 1, 2, 5, 6, 3, 4}));
  EXPECT_EQ(take(tests::int64_tensor({7, 8}, {2}), tests::int64_tensor({1}, {1})).item(), 8);
  EXPECT_EQ(take(x, zeros({0}, {.dtype = int64})).shape(), Shape(0, 2));
}

TEST(Take, RefusesARowThatIsNotThereAtTheWait) {
  const std::string message = message_of([] { take(zeros({3, 2}), tests::int64_tensor({0, -1}, {2})).wait(); });
  EXPECT_TRUE(tests::has_parts(message, {"[take]", "-1"}));
  recover();
}

TEST(Take, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({3, 2});
  EXPECT_EQ(message_of([&] { take(x, zeros({2})); }), "[take] indices must be int64 of one axis: indices float32 (2)");
  EXPECT_EQ(message_of([&] { take(sum(x), zeros({2}, {.dtype = int64})); }), "[take] x is a scalar and has no rows");
  EXPECT_EQ(message_of([&] { take(x, Tensor()); }), "[take] a tensor that holds nothing");
}

}  // namespace
}  // namespace asyncgrad
