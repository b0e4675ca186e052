// Samples of connectionist temporal classification that have no finite loss. The cases of devices compare the others.
#include <cmath>

#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

constexpr std::int64_t steps = 3, classes = 4, width = 2;

struct Sample {
  std::int64_t input_length, target_length;
  std::vector<std::int64_t> labels;
};

// The loss and the gradient of one sample among good ones.
std::pair<float, std::vector<float>> results_of(const Sample& bad, float dy) {
  const std::vector<Sample> samples{{3, 2, {1, 2}}, bad, {3, 2, {1, 2}}};
  std::vector<std::int64_t> targets, input_lengths, target_lengths;
  for (const Sample& sample : samples) {
    targets.insert(targets.end(), sample.labels.begin(), sample.labels.end());
    input_lengths.push_back(sample.input_length);
    target_lengths.push_back(sample.target_length);
  }
  const Array loss({3}, float32), x({steps, 3, classes}, std::vector<float>(steps * 3 * classes, -1)),
      labels({3, width}, targets), inputs({3}, input_lengths), lengths({3}, target_lengths),
      dx({steps, 3, classes}, float32), of_loss({3}, std::vector<float>{1, dy, 1});
  run_on_cuda(Op::ctc, {written(loss), read(x), read(labels), read(inputs), read(lengths)}, CtcAttributes());
  run_on_cuda(Op::ctc_grad, {written(dx), read(x), read(labels), read(inputs), read(lengths), read(of_loss)},
              CtcAttributes());
  const std::vector<float> losses = loss.values<float>(), gradient = dx.values<float>();
  EXPECT_TRUE(std::isfinite(losses[0]) && losses[0] == losses[2]);
  std::vector<float> own;
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t c = 0; c < classes; ++c) {
      EXPECT_TRUE(std::isfinite(gradient[t * 3 * classes + c]));
      own.push_back(gradient[(t * 3 + 1) * classes + c]);
    }
  }
  return {losses[1], own};
}

TEST(CudaCtc, IsNotANumberForWhatIsOutOfRange) {
  for (const Sample& bad : {Sample{4, 2, {1, 2}},
                            {-1, 2, {1, 2}},
                            {3, 3, {1, 2}},
                            {3, -1, {1, 2}},
                            {3, 2, {1, 4}},
                            {3, 2, {-1, 1}},
                            {3, 2, {1, 0}}}) {
    const auto [loss, gradient] = results_of(bad, 1);
    EXPECT_TRUE(std::isnan(loss));
    for (const float x : gradient) EXPECT_TRUE(std::isnan(x));
  }
  EXPECT_TRUE(std::isfinite(results_of({3, 1, {1, 4}}, 1).first)) << "a label that does not count";
}

TEST(CudaCtc, IsInfiniteForTooFewSteps) {
  for (const Sample& bad : {Sample{1, 2, {1, 2}}, {0, 1, {1, 2}}, {2, 2, {1, 1}}}) {
    EXPECT_EQ(results_of(bad, 1).first, std::numeric_limits<float>::infinity());
    EXPECT_EQ(results_of(bad, 0).second, std::vector<float>(steps * classes, 0)) << "left out by a gradient of 0";
  }
}

}  // namespace

}  // namespace asyncgrad::detail
