#include "asyncgrad/autograd/ctc.h"

#include <gmock/gmock.h>

#include <cmath>

#include "asyncgrad/autograd/networks/decomposed.h"
#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;
using Integers = std::vector<std::int64_t>;

// The labels that are left of a path without repetitions and blanks.
Integers collapsed(const Integers& path, std::int64_t blank) {
  Integers labels;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

// By the definition: -log of the sum over all paths of `steps` steps that leave the target.
double by_definition(const Tensor& x, std::int64_t sample, std::int64_t steps, const Integers& target,
                     std::int64_t blank) {
  const std::vector<double> all = values(x);
  const std::int64_t samples = x.size(1), classes = x.size(2);
  std::int64_t paths = 1;
  for (std::int64_t t = 0; t < steps; ++t) paths *= classes;
  double sum = 0;
  for (std::int64_t number = 0; number < paths; ++number) {
    Integers path;
    double log_probability = 0;
    for (std::int64_t t = 0, rest = number; t < steps; ++t, rest /= classes) {
      path.push_back(rest % classes);
      log_probability += all[static_cast<std::size_t>((t * samples + sample) * classes + path.back())];
    }
    if (collapsed(path, blank) == target) sum += std::exp(log_probability);
  }
  return -std::log(sum);
}

struct Batch {
  Tensor x, targets, input_lengths, target_lengths;
  std::int64_t blank;

  Tensor losses() const { return ctc(x, targets, input_lengths, target_lengths, blank); }
};

// Targets with equal neighbours, no labels, too many for the steps, and one without steps.
Batch batch_of(std::int64_t blank, std::uint64_t seed = 1) {
  const std::int64_t other = blank == 0 ? 3 : 0;
  return {.x = log_softmax(random64({5, 6, 4}, seed, -2, 2)),
          .targets = int64_tensor({1, 2, other, 2, 2, 1, -7, 9, 9, 1, 1, 1, 1, 2, 99, 2, 9, 9}, {6, 3}),
          .input_lengths = int64_tensor({5, 5, 4, 3, 0, 0}, {6}),
          .target_lengths = int64_tensor({3, 3, 0, 3, 2, 0}, {6}),
          .blank = blank};
}

TEST(Ctc, SumsOverAllAlignments) {
  for (const std::int64_t blank : {0, 3}) {
    const Batch batch = batch_of(blank);
    const Integers targets = batch.targets.to_vector<std::int64_t>();
    std::vector<double> expected;
    for (std::int64_t n = 0; n < 6; ++n) {
      const auto first = targets.begin() + 3 * n;
      const Integers target(first, first + batch.target_lengths[n].item<std::int64_t>());
      expected.push_back(by_definition(batch.x, n, batch.input_lengths[n].item<std::int64_t>(), target, blank));
    }
    const std::vector<double> found = batch.losses().to_vector<double>();
    for (std::size_t n = 0; n < 6; ++n) {
      if (std::isinf(expected[n])) {
        EXPECT_EQ(found[n], infinity);
      } else {
        EXPECT_NEAR(found[n], expected[n], 1e-12) << "sample " << n;
      }
    }
    EXPECT_EQ(found[3], infinity);
    EXPECT_EQ(found[4], infinity);
    EXPECT_EQ(found[5], 0);
  }
}

// The gradient is 0 beyond the lengths, and where a loss counts nothing.
TEST(Ctc, HasTheDerivativeOfItsValueAsGradient) {
  const Batch batch = batch_of(0);
  const Tensor counts = isfinite(batch.losses());
  const Function f = [&](const std::vector<Tensor>& inputs) {
    Batch moved = batch;
    moved.x = inputs[0];
    return where(counts, moved.losses(), 0);
  };
  check_gradients(f, {batch.x});
}

TEST(Ctc, HasNanInTheGradientOfInfinity) {
  Batch batch = batch_of(0);
  batch.x.requires_grad_();
  sum(batch.losses()).backward();
  const Tensor dx = batch.x.grad();
  EXPECT_TRUE(any(isnan(dx(range(0, 3), 3))).item());
  EXPECT_EQ(sum(abs(dx(range(3, 5), 3))).item(), 0);  // steps that do not count
  EXPECT_TRUE(all(isfinite(dx(all, range(0, 3)))).item());
  EXPECT_EQ(sum(abs(dx(all, range(4, 6)))).item(), 0);
}

// Also in float32, and the gradients of the gradient.
TEST(Ctc, IsWhatItsDecomposedFormIs) {
  const Batch batch = batch_of(3, 7);
  const detail::CtcTargets targets{batch.targets, batch.input_lengths, batch.target_lengths};
  const Tensor form = detail::decomposed_ctc(batch.x, targets, 3);
  expect_near(batch.losses().slice(0, 3), values(form.slice(0, 3)));
  Batch narrow = batch;
  narrow.x = batch.x.to(float32);
  expect_near(narrow.losses().slice(0, 3), values(form.slice(0, 3)), 1e-6);
  using Sizes = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [steps, length] : {Sizes{0, 2}, Sizes{3, 0}, Sizes{1, 1}}) {
    const Tensor x = log_softmax(random64({steps, 2, 3}, 5));
    const detail::CtcTargets few{full({2, length}, 1, {.dtype = int64}), full({2}, steps, {.dtype = int64}),
                                 full({2}, std::min(steps, length), {.dtype = int64})};
    expect_near(ctc(x, few.targets, few.input_lengths, few.target_lengths), values(detail::decomposed_ctc(x, few, 0)));
  }
}

// With as many states as fill vectors, and with others.
TEST(Ctc, HasTheGradientOfItsDecomposedForm) {
  for (const std::int64_t length : {1, 3, 4, 7, 8, 15, 20}) {
    SCOPED_TRACE(length);
    Generator generator(static_cast<std::uint64_t>(length));
    const Tensor x = log_softmax(random64({45, 3, 5}, static_cast<std::uint64_t>(length)));
    const detail::CtcTargets targets{randint(1, 5, {3, length}, {.generator = &generator}),
                                     int64_tensor({45, 44, 40}, {3}), int64_tensor({length, length - 1, 0}, {3})};
    const Tensor leaf = parameter(x.clone()), other = parameter(x.clone());
    const Tensor losses = ctc(leaf, targets.targets, targets.input_lengths, targets.target_lengths);
    const Tensor form = detail::decomposed_ctc(other, targets, 0);
    expect_near(losses, values(form));
    sum(losses * Tensor::from({1.0, 2.0, -0.5}, {3})).backward();
    sum(form * Tensor::from({1.0, 2.0, -0.5}, {3})).backward();
    expect_near(leaf.grad(), values(other.grad()), 1e-10);
  }
}

TEST(Ctc, TakesIntegersOfAnyKind) {
  const Batch batch = batch_of(0);
  const auto narrow = [](const Tensor& x) { return maximum(x, 0).to(int32); };
  EXPECT_EQ(ctc(batch.x, narrow(batch.targets), narrow(batch.input_lengths), batch.target_lengths.to(uint8))
                .to_vector<double>(),
            batch.losses().to_vector<double>());
  EXPECT_EQ(
      ctc(zeros({3, 0, 2}), zeros({0, 2}, {.dtype = int64}), zeros({0}, {.dtype = int64}), zeros({0}, {.dtype = int64}))
          .shape(),
      Shape(0));
}

TEST(Ctc, GivesTheSameBitsWithAnyNumberOfWorkers) {
  expect_same_for_all_workers([] {
    Batch batch = batch_of(0);
    batch.x = log_softmax(random64({40, 6, 50}, 3));
    batch.x.requires_grad_();
    const Tensor losses = batch.losses();
    sum(losses.slice(0, 3)).backward();
    return std::vector<Tensor>{losses.detach(), batch.x.grad()};
  });
}

TEST(Ctc, ShowsWhatDoesNotFit) {
  const Batch batch = batch_of(0);
  const auto message = [&](auto change) {
    Batch wrong = batch;
    change(wrong);
    return message_of([&] { wrong.losses().wait(); });
  };
  EXPECT_EQ(message([](Batch& b) { b.targets = b.targets.slice(0, 5); }),
            "[ctc] needs log_probabilities (T, N, C), targets (N, S), input_lengths (N) and target_lengths (N), got "
            "log_probabilities (5, 6, 4), targets (5, 3), input_lengths (6), target_lengths (6)");
  EXPECT_EQ(message([](Batch& b) { b.blank = 4; }),
            "[ctc] the blank 4 is outside of the 4 classes of log_probabilities (5, 6, 4)");
  EXPECT_EQ(message([](Batch& b) { b.targets = b.targets.to(float64); }),
            "[ctc] targets must be int64, got float64; targets.to(ag::int64) converts them");
  EXPECT_THAT(message([](Batch& b) { b.x = b.x.to(int64); }), HasSubstr("[ctc]"));
  EXPECT_THAT(message([](Batch& b) { b.input_lengths = b.input_lengths + 1; }),
              HasSubstr("[ctc] the input length 6 of sample 0 is outside of [0, 5]"));
  EXPECT_THAT(message([](Batch& b) { b.target_lengths = b.target_lengths - 1; }),
              HasSubstr("[ctc] the target length -1 of sample 2 is outside of [0, 3]"));
  EXPECT_THAT(message([](Batch& b) { b.targets = b.targets - 1; }),
              HasSubstr("[ctc] label 0 at position 0 of sample 0 is the blank"));
  EXPECT_THAT(message([](Batch& b) { b.targets = b.targets + 3; }),
              HasSubstr("[ctc] label 4 at position 0 of sample 0 is outside 4 classes"));
  recover();
}

TEST(Ctc, OfNoStepsHasGradientsItself) {
  const Tensor x = parameter(zeros({0, 2, 3})), none = zeros({2}, {.dtype = int64});
  const Tensor loss = sum(ctc(x, ones({2, 1}, {.dtype = int64}), none, none));
  EXPECT_EQ(grad(loss, {x}, {}, {.create_graph = true})[0].shape(), x.shape());
}

}  // namespace
}  // namespace asyncgrad::tests
