// The same bits as without recompute(), in less memory.
#include "asyncgrad/nn/recompute.h"

#include <thread>

#include "tests/autograd/support.h"
#include "tests/nn/layer_cases.h"

namespace asyncgrad {
namespace {

using nn::recompute;
using tests::has_parts;
using tests::message_of;

using Bits = std::vector<std::vector<float>>;

// Drops elements at random in training.
struct Drop {
  Generator* generator = nullptr;
  Tensor operator()(const Arg& x) const {
    if (!is_training()) return x.tensor();
    return x * less(uniform(x->shape(), 0, 1, {.generator = generator}), 0.5) * 2;
  }
  void members(nn::Members& /*members*/) {}
};

// Counts its calls, as running statistics do.
struct Counted {
  Tensor count = zeros({});
  Tensor operator()(const Arg& x) const {
    if (is_training() && !is_recomputing()) {
      const NoGrad no_grad;
      Tensor(count) += 1;
    }
    return tanh(x);
  }
  void members(nn::Members& m) { m("count", count); }
};

nn::Sequential make_net(Generator* generator = nullptr) {
  manual_seed(7);
  return nn::Sequential(nn::Dense(6, 5, relu), Drop{generator}, nn::Dense(5, 5, tanh), Counted{}, nn::Dense(5, 3));
}

// The loss, the gradients of x and of all parameters, and the random numbers afterwards.
template <class Layer>
Bits bits_of(nn::Sequential& net, const Layer& layer, Generator* generator = nullptr) {
  manual_seed(11);
  if (generator != nullptr) *generator = Generator(5);
  const Tensor x = parameter(randn({4, 6}));
  const Tensor loss = mean(square(layer(x)) * asyncgrad::uniform({4, 3}));
  const std::uint64_t place = default_generator().place();
  loss.backward();
  EXPECT_EQ(default_generator().place(), place);
  Bits bits = {loss.to_vector<float>(), x.grad().to_vector<float>(), randn({3}).to_vector<float>()};
  for (const Tensor& parameter : nn::parameters(net)) bits.push_back(parameter.grad().to_vector<float>());
  if (generator != nullptr) bits.push_back(randn({2}, {.generator = generator}).to_vector<float>());
  return bits;
}

// Where the gradients are computed, the first computation's generator may be another one, or no more.
TEST(Recompute, TakesItsRandomNumbersAgainWhateverHasBecomeOfTheGenerator) {
  const auto layer = [](const Arg& h) { return dropout(h * asyncgrad::uniform(h->shape()), 0.5); };
  const auto gradient = [&](bool is_recomputed, auto&& between) {
    const Tensor x = parameter(ones({100}));
    Tensor y;
    {
      Generator generator(3);
      const GeneratorScope scope(generator);
      y = sum(is_recomputed ? recompute(layer, x) : layer(x));
    }
    between(y);
    return x.grad().to_vector<float>();
  };
  const auto expected = gradient(false, [](const Tensor& y) { y.backward(); });
  EXPECT_EQ(gradient(true, [](const Tensor& y) { y.backward(); }), expected);
  EXPECT_EQ(gradient(true,
                     [](const Tensor& y) {
                       manual_seed(99);
                       y.backward();
                     }),
            expected);
  EXPECT_EQ(gradient(true, [](const Tensor& y) { std::jthread([&] { y.backward(); }); }), expected);
}

TEST(Recompute, HasTheSameBits) {
  nn::Sequential plain = make_net(), again = make_net();
  const Bits expected = bits_of(plain, plain);
  EXPECT_EQ(bits_of(again, [&](const Tensor& x) { return recompute(again, x); }), expected);
  nn::Sequential nested = make_net();
  EXPECT_EQ(
      bits_of(nested,
              [&](const Tensor& x) { return recompute([&](const Arg& y) { return recompute(nested, y) * 1; }, x); }),
      expected);
}

TEST(Recompute, DrawsTheSameNumbersFromAGeneratorOfOnesOwn) {
  Generator a, b;
  nn::Sequential plain = make_net(&a), again = make_net(&b);
  const Bits expected = bits_of(plain, plain, &a);
  EXPECT_EQ(bits_of(
                again, [&](const Tensor& x) { return recompute(again, x); }, &b),
            expected);
}

TEST(Recompute, CountsStatisticsOnce) {
  const Counted layer;
  const Tensor x = parameter(ones({2}));
  sum(recompute(layer, x)).backward();
  EXPECT_EQ(layer.count.item(), 1);
  EXPECT_FALSE(is_recomputing());
}

TEST(Recompute, MultipliesInTheModeOfTheFirstTime) {
  const nn::Dense layer(8, 8, gelu);
  const Tensor x = randn({4, 8});
  const auto gradient = [&](bool again) {
    set_math_mode(MathMode::bf16);
    const Tensor y = again ? recompute(layer, x) : layer(x);
    set_math_mode(MathMode::float32);
    return grad(sum(square(y)), {layer.weight})[0].to_vector<float>();
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST(Recompute, EvaluatesAsItDid) {
  const Tensor x = parameter(ones({64}));
  Tensor y;
  {
    const Evaluation evaluation;
    y = recompute([](const Arg& h) { return Drop{}(h * 3); }, x);
  }
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(64, 3));
  EXPECT_TRUE(is_training());
}

class RecomputedLayer : public testing::TestWithParam<tests::LayerCase> {
 protected:
  // Calls the layer three times, twice with gradients, and returns all results, gradients, state and random numbers.
  static Bits bits(bool recomputes) {
    manual_seed(7);
    Generator generator(5);
    const nn::Sequential layer = GetParam().make(&generator);
    Bits bits;
    for (const bool trains : {true, false, true}) {
      std::optional<Evaluation> evaluation;
      if (!trains) evaluation.emplace();
      const Tensor x = GetParam().draw_input();
      const Tensor y = recomputes ? recompute(layer, x) : layer(x);
      if (y.requires_grad()) sum(square(y) * randn(y.shape())).backward();
      bits.push_back(y.to_vector<float>());
      if (x.requires_grad()) bits.push_back(x.grad().to_vector<float>());
      for (const auto& [path, tensor] : nn::state(layer)) {
        bits.push_back(tensor.to_vector<float>());
        if (tensor.grad().defined()) bits.push_back(tensor.grad().to_vector<float>());
      }
    }
    bits.push_back(randn({2}, {.generator = &generator}).to_vector<float>());
    return bits;
  }
};

TEST_P(RecomputedLayer, HasTheBitsGradientsAndStatisticsOfOneComputation) {
  const Bits found = bits(true), expected = bits(false);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i]) << "tensor " << i;
}

INSTANTIATE_TEST_SUITE_P(All, RecomputedLayer, testing::ValuesIn(tests::layer_cases()), tests::name_of_layer);

// A sum in float32 depends on the order of its terms.
TEST(Recompute, AddsToWhatIsSharedInTheSameOrder) {
  const auto gradients = [](bool recomputes) {
    manual_seed(1);
    const Tensor w = parameter(randn({5, 5})), x = parameter(randn({7, 5}));
    const Tensor h = tanh(matmul(x, w));
    const auto layer = [w, h](const Arg& y) { return tanh(matmul(tanh(matmul(y, w)) + h.slice(0, 7), w)) * h; };
    const auto apply = [&](const Tensor& y) { return recomputes ? recompute(layer, y) : layer(y); };
    sum(matmul(apply(apply(h) * 2), w) + h).backward();
    return Bits{w.grad().to_vector<float>(), x.grad().to_vector<float>()};
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

TEST(Recompute, KeepsNothingButItsInput) {
  constexpr int blocks = 8, inside = 6;
  const auto peak = [&](bool recomputes) {
    const Tensor x = parameter(ones({64, 256}));
    const auto block = [](const Arg& y) {
      Tensor h = y.tensor();
      for (int i = 0; i < inside; ++i) h = tanh(h);
      return h;
    };
    wait_all();
    const std::int64_t before = memory_figures().serial_live_bytes;
    reset_peaks();
    Tensor h = x;
    for (int i = 0; i < blocks; ++i) h = recomputes ? recompute(block, h) : block(h);
    sum(h).backward();
    x.grad().wait();
    return (memory_figures().serial_peak_bytes - before) / (64 * 256 * 4);
  };
  EXPECT_GE(peak(false), blocks * inside);
  EXPECT_LE(peak(true), blocks + inside + 4);
}

TEST(Recompute, GivesGradientsAsValuesAndOfGradients) {
  const Tensor x = parameter(Tensor::from({0.5, -1.0}, {2})), w = parameter(Tensor::from({2.0, 3.0}, {2}));
  const auto layer = [&](const Arg& y) { return sin(y * w); };
  const auto second = [&](const Tensor& y) {
    const Tensor gradient = grad(sum(y), {x}, {}, {.create_graph = true})[0];
    return grad(sum(square(gradient)), {w, x});
  };
  const std::vector<Tensor> plain = second(layer(x)), again = second(recompute(layer, x));
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(again[at].to_vector<double>(), plain[at].to_vector<double>());
  }
  EXPECT_FALSE(w.grad().defined());
}

TEST(Recompute, IsComputedAgainForEachBackward) {
  const Tensor x = parameter(ones({3}));
  const Tensor loss = sum(recompute([](const Arg& y) { return square(y) * asyncgrad::uniform({3}); }, x));
  loss.backward(true);
  const std::vector<float> first = x.grad().to_vector<float>();
  loss.backward();
  EXPECT_EQ((x.grad() / 2).to_vector<float>(), first);
  EXPECT_TRUE(has_parts(message_of([&] { loss.backward(); }), {"[backward] an earlier backward() has dropped"}));
}

TEST(Recompute, RecordsOnlyWhatHasAGradient) {
  EXPECT_FALSE(recompute(relu, ones({2})).requires_grad());
  const Tensor x = parameter(ones({2}));
  EXPECT_EQ(recompute([](const Arg& y) { return y.tensor(); }, x).impl(), x.impl());
  const NoGrad no_grad;
  EXPECT_FALSE(recompute(relu, x).requires_grad());
}

TEST(Recompute, NamesTheLinesOfTheLayer) {
  const Tensor x = parameter(ones({2, 2}));
  const Tensor rows = tests::int64_tensor({0, 9}, {2});
  const LayerScope scope("outer");
  const Tensor y = recompute([&](const Arg& h) { return take(h, rows); }, x);
  EXPECT_TRUE(has_parts(message_of([&] { y.wait(); }), {"[take]", "recompute_test.cpp:", "in layer outer"}));
  recover();
}

TEST(Recompute, RefusesANullFunction) {
  EXPECT_TRUE(has_parts(message_of([] { recomputed(nullptr, ones({2})); }), {"[recompute] there is no function"}));
}

TEST(Recompute, RefusesWhatWouldGiveWrongGradients) {
  const Tensor x = parameter(ones({2})), w = parameter(ones({2}));
  const auto layer = [&](const Arg& y) { return exp(y * w); };
  const Tensor y = sum(recompute(layer, x));
  {
    const NoGrad no_grad;
    Tensor(w) *= 2;
  }
  EXPECT_TRUE(has_parts(message_of([&] { y.backward(); }), {"[recompute]", "was written in place afterwards"}));

  bool is_first = true;
  const Tensor other = sum(
      recompute([&](const Arg& h) { return std::exchange(is_first, false) ? h * asyncgrad::uniform({2}) : h * 2; }, x));
  EXPECT_TRUE(has_parts(message_of([&] { other.backward(); }), {"[random]", "fewer random numbers"}));
  Generator generator(3);
  const Tensor seeded = sum(recompute([&](const Arg& h) { return h * static_cast<double>(generator.take(1)); }, x));
  generator = Generator(99);
  EXPECT_TRUE(has_parts(message_of([&] { seeded.backward(); }), {"[random]", "was seeded in between"}));

  const Tensor h = x * 1;
  EXPECT_TRUE(has_parts(message_of([&] {
                          recompute(
                              [](const Arg& in) {
                                Tensor(in.tensor()) += 1;
                                return in * 2;
                              },
                              h);
                        }),
                        {"[recompute] the function wrote its input (2) in place"}));
  EXPECT_TRUE(has_parts(message_of([&] {
                          recompute(
                              [&](const Arg& in) {
                                Tensor(h) += in;
                                return h * h;
                              },
                              x);
                        }),
                        {"[recompute] the function wrote a tensor (2) in place that has a history from before"}));
  EXPECT_EQ(message_of([] { recompute(relu, Tensor()); }),
            "[recompute] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_TRUE(has_parts(message_of([&] { recompute([](const Arg&) { return Tensor(); }, x); }),
                        {"[recompute] the function gave a tensor that holds nothing"}));
  EXPECT_FALSE(is_recomputing());
}

TEST(Recompute, FindsThatAConstantWasWritten) {
  const Tensor x = parameter(ones({2}));
  Tensor scale = full({2}, 2);
  const auto layer = [&](const Arg& in) { return square(in * (scale + 1)) + Tensor::from({1.0F, 2.0F}, {2}); };
  const Tensor y = sum(recompute(layer, x)),
               nested = sum(recompute([&](const Arg&in) { return recompute(layer, in); }, x));
  scale *= 10;
  for (const Tensor& loss : {y, nested}) {
    EXPECT_TRUE(
        has_parts(message_of([&] { loss.backward(); }),
                  {"[recompute] a tensor that its gradient needs was written in place afterwards: float32 (2)"}));
  }
  EXPECT_FALSE(x.grad().defined());

  nn::BatchNorm norm(2);
  Tensor in_evaluation;
  {
    const Evaluation evaluation;
    in_evaluation = sum(recompute(norm, parameter(randn({3, 2}))));
  }
  norm(randn({3, 2}));
  EXPECT_TRUE(has_parts(message_of([&] { in_evaluation.backward(); }), {"[recompute]", "was written in place"}));
}

// The function may write running statistics and counts itself; then it knows what it reads.
TEST(Recompute, ReadsWhatTheFunctionWritesItself) {
  const Tensor x = parameter(ones({2})), count = zeros({});
  const auto layer = [&](const Arg& in) {
    if (!is_recomputing()) Tensor(count) += 1;
    return in * (count * 0 + 1);
  };
  const Tensor first = sum(recompute(layer, x)), second = sum(recompute(layer, x));
  first.backward();
  second.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(2, 2));
}

TEST(Recompute, FindsThatAParameterWasReplaced) {
  Tensor w = parameter(full({2}, 2));
  const Tensor first = w;
  const Tensor y = recompute([&w](const Arg& in) { return square(in * w); }, ones({2}));
  w = parameter(full({2}, 100));
  EXPECT_TRUE(has_parts(message_of([&] { sum(y).backward(); }),
                        {"[recompute] the function uses another tensor (2) the second time"}));
  EXPECT_FALSE(w.grad().defined());
  w = first;
  sum(recompute([&w](const Arg& in) { return square(in * w); }, ones({2}))).backward();
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(2, 4));
}

TEST(Recompute, OfALongChainEndsWithoutRecursion) {
  const Tensor x = parameter(ones({3}));
  for (const bool goes_backward : {false, true}) {
    Tensor y = x * 1;
    for (int i = 0; i < 30'000; ++i) {
      const Tensor before = y;  // captured, though it is not used
      y = recompute([before](const Arg& a) { return a.tensor() * 1.0; }, y);
    }
    if (goes_backward) sum(y).backward();
    y = Tensor();
  }
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace asyncgrad
