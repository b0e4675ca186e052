// Long and wide graphs.
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

constexpr int chain_length = 200'000;

TEST(LongChain, EndsWithoutRecursion) {
  const Tensor x = parameter(ones({}));
  Tensor y = x * 1;
  for (int i = 0; i < chain_length; ++i) y = y + 1;
  y = Tensor();
  EXPECT_FALSE(x.grad().defined());
}

TEST(LongChain, IsWalkedWithoutRecursion) {
  for (const bool retain_graph : {false, true}) {
    const Tensor x = parameter(ones({}));
    Tensor y = x * 1;
    for (int i = 0; i < chain_length; ++i) y = y + 1;
    y.backward(retain_graph);
    EXPECT_EQ(x.grad().item(), 1);
  }
}

TEST(WideGraph, IsWalkedInTheOrderOfItsOperations) {
  const Tensor x = parameter(ones({}, {.dtype = float64}));
  std::vector<Tensor> branches;
  for (int i = 0; i < 20'000; ++i) branches.push_back(x * i);
  Tensor total = branches[0];
  for (const Tensor& branch : branches) total = total + branch;
  branches.clear();
  total.backward();
  EXPECT_EQ(x.grad().item(), 20'000.0 * 19'999 / 2);
}

TEST(WideGraph, HasNodesOfManyInputs) {
  const Tensor x = parameter(ones({}));
  std::vector<Tensor> parts;
  for (int i = 0; i < 1000; ++i) parts.push_back(i % 3 == 0 ? ones({}) : x * i);
  const Tensor total = sum(stack(parts));
  parts.clear();
  total.backward();
  EXPECT_EQ(x.grad().item(), 999.0 * 1000 / 2 - 3.0 * 333 * 334 / 2);
  EXPECT_TRUE(has_parts(message_of([&] { total.backward(); }), {"has dropped", "retain_graph"}));
}

}  // namespace
}  // namespace asyncgrad::tests
