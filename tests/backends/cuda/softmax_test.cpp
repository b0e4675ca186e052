#include <cmath>

#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

// The lines are those that a thread, a warp and a block compute, and lines across.
const std::vector<ReduceAttributes> softmax_views = {
    {.outer = 9, .axis = 10, .inner = 1},   {.outer = 5, .axis = 300, .inner = 1},
    {.outer = 3, .axis = 5000, .inner = 1}, {.outer = 2, .axis = 70, .inner = 6},
    {.outer = 4, .axis = 1, .inner = 1},    {.outer = 0, .axis = 3, .inner = 2},
    {.outer = 2, .axis = 1024, .inner = 1}, {.outer = 2, .axis = 1025, .inner = 1}};

template <class Check>
void for_softmax_views(Check check) {
  for (const ReduceAttributes& a : softmax_views) {
    SCOPED_TRACE(shape_of(a).str());
    for_floating([&]<class T>(T) { check.template operator()<T>(a, shape_of(a)); });
  }
}

TEST(CudaSoftmax, IsTheCpus) {
  for_softmax_views([]<class T>(const ReduceAttributes& a, const Shape& shape) {
    BothBackends()
        .output<T>(shape)
        .template random_input<T>(shape, -90, 90)
        .run(Op::softmax, a)
        .template expect_close<T>(16);
  });
}

TEST(CudaLogSoftmax, IsTheCpus) {
  for_softmax_views([]<class T>(const ReduceAttributes& a, const Shape& shape) {
    BothBackends()
        .output<T>(shape)
        .template random_input<T>(shape, -90, 90)
        .run(Op::log_softmax, a)
        .template expect_close<T>(4, 1);
  });
}

TEST(CudaSoftmaxGrad, IsTheCpus) {
  for_softmax_views([]<class T>(const ReduceAttributes& a, const Shape& shape) {
    BothBackends()
        .output<T>(shape)
        .template random_input<T>(shape, 0, 1)
        .template random_input<T>(shape)
        .run(Op::softmax_grad, a)
        .template expect_close<T>(16, 0.1 * static_cast<double>(a.axis) + 1);
  });
}

TEST(CudaLogSoftmaxGrad, IsTheCpus) {
  for_softmax_views([]<class T>(const ReduceAttributes& a, const Shape& shape) {
    BothBackends()
        .output<T>(shape)
        .template random_input<T>(shape, -5, 0)
        .template random_input<T>(shape)
        .run(Op::log_softmax_grad, a)
        .template expect_close<T>(16, 0.1 * static_cast<double>(a.axis) + 1);
  });
}

std::vector<std::int64_t> labels_of(std::int64_t samples, std::int64_t classes) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < samples; ++i) labels.push_back(i * 7919 % classes);
  return labels;
}

TEST(CudaCrossEntropy, IsTheCpus) {
  for (const std::int64_t classes : {1, 10, 300, 3000}) {
    const std::int64_t samples = 13;
    for_floating([&]<class T>(T) {
      BothBackends()
          .output<T>(samples)
          .template random_input<T>({samples, classes}, -20, 20)
          .input({samples}, labels_of(samples, classes))
          .run(Op::cross_entropy, WithoutAttributes())
          .template expect_close<T>(4, 20);
      BothBackends()
          .output<T>({samples, classes})
          .template random_input<T>({samples, classes}, -20, 20)
          .input({samples}, labels_of(samples, classes))
          .template random_input<T>({samples})
          .run(Op::cross_entropy_grad, WithoutAttributes())
          .template expect_close<T>(16, 0.01);
    });
  }
}

// A kernel on a device cannot report a bad label. The results of its sample, and only those, are NaN.
TEST(CudaCrossEntropy, OfALabelThatIsNotThereIsNan) {
  const Array logits({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}), labels({3}, std::vector<std::int64_t>{2, 1, -1});
  const Array dy({3}, std::vector<float>{1, 1, 1}), loss({3}, float32), dlogits({3, 2}, float32);
  run_on_cuda(Op::cross_entropy, {written(loss), read(logits), read(labels)}, WithoutAttributes());
  run_on_cuda(Op::cross_entropy_grad, {written(dlogits), read(logits), read(labels), read(dy)}, WithoutAttributes());
  for (const int sample : {0, 1, 2}) {
    const bool is_there = sample == 1;
    EXPECT_EQ(std::isnan(loss.values<float>()[static_cast<std::size_t>(sample)]), !is_there);
    EXPECT_EQ(std::isnan(dlogits.values<float>()[static_cast<std::size_t>(2 * sample)]), !is_there);
    EXPECT_EQ(std::isnan(dlogits.values<float>()[static_cast<std::size_t>(2 * sample + 1)]), !is_there);
  }
}

}  // namespace

}  // namespace asyncgrad::detail
