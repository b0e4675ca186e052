#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/backends/cuda/both_backends.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::detail {

namespace {

// Copies between a whole tensor and all elements of another one whose axes are in this order.
template <class T>
void check_exchange(const Shape& in, const std::vector<int>& axes) {
  Shape out;
  StridedCopyAttributes attributes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.append(in[axes[i]]);
    attributes.strides[i] = 1;
    for (int inner = axes[i] + 1; inner < in.rank(); ++inner) attributes.strides[i] *= in[inner];
  }
  SCOPED_TRACE(in.str() + " to " + out.str());
  BothBackends()
      .output<T>(out)
      .template random_input<T>(in)
      .run(Op::strided_copy, attributes)
      .template expect_same_bits<T>();
  attributes.into = attributes.adds = true;
  BothBackends()
      .update(in, random_values<T>(in.numel(), 3))
      .template random_input<T>(out)
      .run(Op::strided_copy, attributes)
      .template expect_same_bits<T>();
}

TEST(CudaStridedCopy, IsTheCpusForEveryOrderOfAxes) {
  for (const Shape& in : {Shape{}, Shape{5}, Shape{70, 33}, Shape{64, 64}, Shape{1, 40}, Shape{0, 3}, Shape{3, 40, 50},
                          Shape{2, 1, 37, 5}, Shape{3, 2, 2, 5, 2}}) {
    std::vector<int> axes(static_cast<std::size_t>(in.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    do {
      check_exchange<float>(in, axes);
      if (!tests::looks_for_races) check_exchange<std::int64_t>(in, axes);
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(CudaStridedCopy, IsTheCpusForEveryKindOfStride) {
  const auto check = [](const Shape& shape, std::int64_t others, const StridedCopyAttributes& attributes) {
    SCOPED_TRACE(shape.str());
    BothBackends()
        .output<double>(shape)
        .random_input<double>({others})
        .run(Op::strided_copy, attributes)
        .expect_same_bits<double>();
  };
  check({30, 20}, 3000, {.strides = {100, 2}, .offset = 1});
  check({60, 70}, 4200, {.strides = {-70, -1}, .offset = 4199});
  check({40, 50}, 2000, {.strides = {-1, 40}, .offset = 39});
  check({50, 60}, 60, {.strides = {0, 1}});
  check({50, 60}, 50, {.strides = {1, 0}});
  check({7, 5, 6}, 35, {.strides = {5, 1, 0}});
  check({20, 30}, 1, {});
}

TEST(CudaConcat, IsTheCpus) {
  for (const std::int64_t outer : {0, 1, 30}) {
    BothBackends()
        .output<float>({outer, 72})
        .random_input<float>({outer, 5})
        .random_input<float>({outer, 0})
        .random_input<float>({outer, 67})
        .run(Op::concat, ConcatAttributes{outer})
        .expect_same_bits<float>();
  }
}

}  // namespace

}  // namespace asyncgrad::detail
