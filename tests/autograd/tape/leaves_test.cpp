#include "asyncgrad/autograd/leaves.h"

#include <gmock/gmock.h>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

TEST(MissingLeaves, AreThoseThatNobodyKnows) {
  const Tensor a = parameter(ones({2, 3})), b = parameter(ones({3, 4})), c = parameter(ones({4})), data = ones({2, 3});
  const Tensor y = sum(matmul(a * data, b) + c);
  EXPECT_THAT(missing_leaves(y, {a, b, c}), ElementsAre());
  EXPECT_THAT(missing_leaves(y, {c, a}),
              ElementsAre(MatchesRegex("\\(3, 4\\), used by matmul, queued at leaves_test.cpp:[0-9]+")));
  EXPECT_THAT(missing_leaves(y, {}), ElementsAre(HasSubstr("(2, 3), used by mul"), HasSubstr("(3, 4), used by matmul"),
                                                 HasSubstr("(4), used by add")));
  EXPECT_THAT(missing_leaves(data, {}), ElementsAre());
}

TEST(MissingLeaves, AreListedOnceByTheirFirstUse) {
  const Tensor a = parameter(ones({2}));
  const Tensor early = square(a);
  const Tensor y = sum(exp(a) * early + a);
  EXPECT_THAT(missing_leaves(y, {}), ElementsAre(HasSubstr("(2), used by square")));
}

TEST(MissingLeaves, OfALongChainAreFound) {
  const Tensor a = parameter(ones({}));
  Tensor y = a;
  for (int i = 0; i < 100'000; ++i) y = y + 1;
  EXPECT_EQ(missing_leaves(y, {}).size(), 1u);
}

TEST(MissingLeaves, AreUnknownAfterBackward) {
  const Tensor a = parameter(ones({2}));
  const Tensor y = sum(square(a));
  y.backward(true);
  EXPECT_EQ(missing_leaves(y, {}).size(), 1u);
  y.backward();
  EXPECT_THAT(message_of([&] { missing_leaves(y, {}); }), HasSubstr("backward() has dropped what led to sum"));
}

}  // namespace
}  // namespace asyncgrad::tests
