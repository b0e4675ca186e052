#include <algorithm>
#include <limits>

#include "tests/backends/cuda/both_backends.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::detail {

namespace {

// There are short and long lines, more than one chunk of either kind, and columns whose chunks have chunks; columns that
// are narrow, fill a block's rows, and have more than one share of a row.
const std::vector<ReduceAttributes> views = {
    {.outer = 3, .axis = 5, .inner = 1},     {.outer = 1, .axis = 1, .inner = 1},
    {.outer = 7, .axis = 300, .inner = 1},   {.outer = 3, .axis = 2000, .inner = 1},
    {.outer = 2, .axis = 40000, .inner = 1}, {.outer = 2, .axis = 3, .inner = 5},
    {.outer = 3, .axis = 200, .inner = 7},   {.outer = 1, .axis = 9000, .inner = 11},
    {.outer = 2, .axis = 130, .inner = 70},  {.outer = 1, .axis = 9, .inner = 33},
    {.outer = 1, .axis = 4000, .inner = 33}, {.outer = 2, .axis = 900, .inner = 3},
    {.outer = 0, .axis = 4, .inner = 3},     {.outer = 2, .axis = 16384, .inner = 1},
    {.outer = 2, .axis = 16385, .inner = 1}};

Shape reduced_shape(const ReduceAttributes& a) { return {a.outer, a.inner}; }

// The values are small integers, so that some are equal.
template <class T>
std::vector<T> values_of(const ReduceAttributes& a, bool with_nan = false) {
  std::vector<T> values;
  for (const double x : random_values<double>(shape_of(a).numel(), 3, -1000, 1000)) {
    values.push_back(static_cast<T>(static_cast<int>(x)));
    if (with_nan && values.back() == 13) values.back() = std::numeric_limits<T>::quiet_NaN();
  }
  return values;
}

template <class Check>
void for_views(Check check) {
  for (const ReduceAttributes& a : views) {
    SCOPED_TRACE(shape_of(a).str());
    check.template operator()<float>(a);
    if (tests::looks_for_races) continue;
    check.template operator()<double>(a);
    check.template operator()<std::int64_t>(a);
  }
}

TEST(CudaSum, IsTheCpusButForRounding) {
  for_views([]<class T>(ReduceAttributes a) {
    a.scale = 0.37;
    // The error of a rounding is relative to the size of the terms.
    BothBackends()
        .output<T>(reduced_shape(a))
        .template random_input<T>(shape_of(a))
        .run(Op::sum, a)
        .template expect_close<T>(64, 0.37 * 3 * static_cast<double>(a.axis) / 16);
  });
}

TEST(CudaSum, OfNothingIsZero) {
  const ReduceAttributes a{.outer = 2, .axis = 0, .inner = 3};
  BothBackends().output<float>({2, 3}).input<float>({2, 0, 3}, {}).run(Op::sum, a).expect_same_bits<float>();
}

// More columns than blocks that keep a GPU busy are not cut.
TEST(CudaSum, OfManyColumnsIsTheCpus) {
  const ReduceAttributes a{.outer = 1025, .axis = 70, .inner = 33};
  BothBackends()
      .output<double>(reduced_shape(a))
      .random_input<double>(shape_of(a))
      .run(Op::sum, a)
      .expect_close<double>(64, 20);
}

// The sum is so much larger than its terms that float32 would lose digits. Chunks are added in double.
TEST(CudaSum, LosesLittle) {
  const std::int64_t n = 1 << 20;
  BothBackends both;
  both.output<float>({}).input(Shape{n}, std::vector<float>(static_cast<std::size_t>(n), 0.1F));
  both.run(Op::sum, ReduceAttributes{.axis = n});
  EXPECT_FLOAT_EQ(both.cuda_values<float>()[0], static_cast<float>(n * static_cast<double>(0.1F)));
}

TEST(CudaMax, IsTheCpusAsIsMin) {
  for_views([]<class T>(const ReduceAttributes& a) {
    for (const Op op : {Op::max, Op::min}) {
      for (const bool with_nan : {false, std::is_floating_point_v<T>}) {
        BothBackends()
            .output<T>(reduced_shape(a))
            .input(shape_of(a), values_of<T>(a, with_nan))
            .run(op, a)
            .template expect_close<T>(0);
      }
    }
  });
}

TEST(CudaArgmax, IsTheCpusAsIsArgmin) {
  for_views([]<class T>(const ReduceAttributes& a) {
    for (const Op op : {Op::argmax, Op::argmin}) {
      for (const bool with_nan : {false, std::is_floating_point_v<T>}) {
        BothBackends()
            .output<std::int64_t>(reduced_shape(a))
            .input(shape_of(a), values_of<T>(a, with_nan))
            .run(op, a)
            .template expect_same_bits<std::int64_t>();
      }
    }
  });
}

TEST(CudaArgmax, OfLowestNumbersIsTheFirst) {
  const ReduceAttributes a{.axis = 40};
  const std::vector<float> lowest(40, -std::numeric_limits<float>::infinity());
  BothBackends both;
  both.output<std::int64_t>({}).input({40}, lowest).run(Op::argmax, a).expect_same_bits<std::int64_t>();
  EXPECT_EQ(both.cuda_values<std::int64_t>()[0], 0);
}

TEST(CudaMaxGrad, IsTheCpus) {
  for_views([]<class T>(const ReduceAttributes& a) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::vector<T> x = values_of<T>(a, true);
      BothBackends forward;
      forward.output<T>(reduced_shape(a)).input(shape_of(a), x).run(Op::max, a);
      BothBackends()
          .output<T>(shape_of(a))
          .input(shape_of(a), x)
          .input(reduced_shape(a), forward.cuda_values<T>())
          .template random_input<T>(reduced_shape(a))
          .run(Op::max_grad, a)
          .template expect_same_bits<T>();
    }
  });
}

}  // namespace

}  // namespace asyncgrad::detail
