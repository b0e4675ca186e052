// Every layer, trained while all values that may be dropped are.
#include "asyncgrad/autograd/budget/plan.h"
#include "asyncgrad/nn/recompute.h"
#include "tests/autograd/support.h"
#include "tests/nn/layer_cases.h"

namespace asyncgrad {
namespace {

using tests::bits;
using tests::LayerCase;
using TrainingBits = std::vector<std::vector<std::uint64_t>>;

// Two steps of training: the losses, the gradients of x, and all parameters and states.
TrainingBits bits_of_training(const LayerCase& row, bool is_recomputed_by_hand) {
  manual_seed(3);
  Generator generator(5);
  nn::Sequential net = row.make(&generator);
  net(row.draw_input());  // layers of a size that the first input decides
  std::vector<Tensor> parameters = nn::parameters(net);
  TrainingBits found;
  for (int step = 0; step < 2; ++step) {
    const Tensor x = row.draw_input();
    {
      const Tensor y = is_recomputed_by_hand ? nn::recompute(net, tanh(x)) : net(x.requires_grad() ? tanh(x) : x);
      const Tensor loss = mean(square(y) * asyncgrad::uniform(y.shape()));
      loss.backward();
      found.push_back(bits(loss));
    }
    if (x.requires_grad()) found.push_back(bits(x.grad()));
    const NoGrad no_grad;
    for (Tensor& parameter : parameters) {
      parameter -= parameter.grad() * 0.1;
      parameter.zero_grad();
    }
  }
  for (const auto& [name, tensor] : nn::state(net)) found.push_back(bits(tensor));
  return found;
}

class LayersThatAreDropped : public testing::TestWithParam<LayerCase> {
 protected:
  ~LayersThatAreDropped() override {
    detail::Plan::get().drop_all(false);
    set_engine_options({});
  }
  static void expect_same_bits(bool is_recomputed_by_hand = false) {
    const TrainingBits expected = bits_of_training(GetParam(), is_recomputed_by_hand);
    set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(1), .recompute_to_fit = true});
    detail::Plan::get().drop_all(true);
    EXPECT_EQ(bits_of_training(GetParam(), is_recomputed_by_hand), expected);
    detail::Plan::get().drop_all(false);
    set_engine_options({});
  }
};

TEST_P(LayersThatAreDropped, TrainToTheSameBits) { expect_same_bits(); }

TEST_P(LayersThatAreDropped, TrainToTheSameBitsWithinRecompute) {
  if (GetParam().x.rank() == 0) GTEST_SKIP() << "its input has no gradient";
  expect_same_bits(/*is_recomputed_by_hand=*/true);
}

TEST_P(LayersThatAreDropped, TrainToTheSameBitsWithProductsInBf16) {
  set_math_mode(MathMode::bf16);
  expect_same_bits();
  set_math_mode(MathMode::float32);
}

TEST_P(LayersThatAreDropped, TrainToTheSameBitsUnderDetectNan) {
  const DetectNan detect;
  expect_same_bits();
}

INSTANTIATE_TEST_SUITE_P(Of, LayersThatAreDropped, testing::ValuesIn(tests::layer_cases()), tests::name_of_layer);

}  // namespace
}  // namespace asyncgrad
