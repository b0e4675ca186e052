#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/backends/cuda/both_backends.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::detail {

namespace {

std::vector<std::int64_t> indices_of(std::int64_t count, std::int64_t rows) {
  std::vector<std::int64_t> indices;
  for (const double x : random_values<double>(count, 5, 0, static_cast<double>(rows))) {
    indices.push_back(static_cast<std::int64_t>(x));
  }
  return indices;
}

TEST(CudaIndexing, IsTheCpus) {
  const auto check = []<class T>(T) {
    for (const std::int64_t count : {0, 1, 50}) {
      BothBackends()
          .output<T>({4, count, 5})
          .template random_input<T>({4, 20, 5})
          .input({count}, indices_of(count, 20))
          .run(Op::take, IndexAttributes{4, 20, 5})
          .template expect_same_bits<T>();
      BothBackends()
          .output<T>({4, count, 5})
          .template random_input<T>({4, 20, 5})
          .input({4, count, 5}, indices_of(20 * count, 20))
          .run(Op::gather, IndexAttributes{4, 20, 5})
          .template expect_same_bits<T>();
      BothBackends()
          .update({4, 20, 5}, random_values<T>(400, 9))
          .input({4, count, 5}, indices_of(20 * count, 20))
          .template random_input<T>({4, count, 5})
          .run(Op::scatter_add, IndexAttributes{4, 20, 5})
          .template expect_close<T>(16, 10);
      BothBackends()
          .output<T>({count, 20})
          .input({count}, indices_of(count, 20))
          .run(Op::one_hot, 0)
          .template expect_same_bits<T>();
      for (const bool is_upper : {false, true}) {
        BothBackends()
            .output<T>({2, count, 20})
            .template random_input<T>({2, count, 20})
            .run(Op::triangle, TriangleAttributes{-2, is_upper})
            .template expect_same_bits<T>();
      }
      BothBackends()
          .output<T>({count, 3, 5})
          .template random_input<T>({20, 3, 5})
          .input({count}, indices_of(count, 20))
          .run(Op::take, IndexAttributes{1, 20, 15})
          .template expect_same_bits<T>();
    }
  };
  for_floating(check);
  check(std::int64_t{});
}

// The rows of one index are added in their order, but for the rounding of long runs, which are cut into parts. The
// counts of indices are those that a thread sorts, those that a warp sorts, and those that are merged from 2, 3 and 5
// sorted parts.
TEST(CudaTakeGrad, IsTheCpus) {
  std::vector<std::int64_t> counts = {0, 1, 12, 300, 1100, 2100};
  if (!tests::is_sanitized) counts.push_back(4200);
  for_floating([&]<class T>(T) {
    for (const std::int64_t count : counts) {
      for (const std::int64_t rows : {1, 7, 400, 3000}) {
        SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(rows));
        BothBackends()
            .update({rows, 3}, random_values<T>(rows * 3, 9))
            .input({count}, indices_of(count, rows))
            .template random_input<T>({count, 3})
            .run(Op::take_grad, IndexAttributes{1, rows, 3})
            .template expect_close<T>(count > 256 ? 256 : 0, 10);
        if (rows > 400) continue;
        BothBackends()
            .update({2, rows, 3}, random_values<T>(2 * rows * 3, 9))
            .input({count}, indices_of(count, rows))
            .template random_input<T>({2, count, 3})
            .run(Op::take_grad, IndexAttributes{2, rows, 3})
            .template expect_close<T>(count > 256 ? 256 : 0, 10);
      }
    }
  });
}

// One run of many parts, which begins and ends within one, and columns enough for a thread or a warp each.
TEST(CudaScatterAdd, IsTheCpusForEveryShape) {
  for (const IndexAttributes& seen : {IndexAttributes{1, 1, 1}, IndexAttributes{1, 5, 1}, IndexAttributes{2, 3, 2},
                                      IndexAttributes{70, 2, 60}, IndexAttributes{13, 5, 10}}) {
    const std::int64_t count = seen.outer == 13 ? 135 : 5000 / (seen.outer * seen.inner) + 2;
    const Shape in{seen.outer, count, seen.inner}, out{seen.outer, seen.axis, seen.inner};
    SCOPED_TRACE(out.str());
    for_floating([&]<class T>(T) {
      std::vector<std::int64_t> indices = indices_of(in.numel(), seen.axis);
      std::fill(indices.begin() + in.numel() / 3, indices.begin() + in.numel() / 2, seen.axis - 1);
      BothBackends()
          .update(out, random_values<T>(out.numel(), 9))
          .input(in, indices)
          .template random_input<T>(in)
          .run(Op::scatter_add, seen)
          .template expect_close<T>(1000, 10);
    });
  }
}

// The indices are mostly equal, mostly different, or rise as those of a mask do.
TEST(CudaPut, IsTheCpus) {
  const auto check = []<class T>(T) {
    for (const std::int64_t count : {0, 1, 50, 1100, 2100}) {
      for (const std::int64_t elements : {1, 7, 3000}) {
        std::vector<std::int64_t> rising(static_cast<std::size_t>(std::min(count, elements)));
        std::iota(rising.begin(), rising.end(), 0);
        for (const auto& indices : {indices_of(count, elements), rising}) {
          SCOPED_TRACE(std::to_string(indices.size()) + " of " + std::to_string(elements));
          const auto given = static_cast<std::int64_t>(indices.size());
          BothBackends()
              .update({elements}, random_values<T>(elements, 9))
              .input({given}, indices)
              .template random_input<T>({given})
              .run(Op::put, 0)
              .template expect_same_bits<T>();
        }
      }
    }
  };
  check(float{});
  check(std::int64_t{});
}

TEST(CudaPut, MovesElementsOfEverySize) {
  const auto check = []<class T>(const std::vector<T>& values) {
    const Array out({3}, std::vector<T>(3, values[0])), indices({3}, std::vector<std::int64_t>{2, 0, 2}),
        in({3}, values);
    run_on_cuda(Op::put, {updated(out), read(indices), read(in)}, 0);
    EXPECT_EQ(out.values<T>(), (std::vector<T>{values[1], values[0], values[2]}));
  };
  check(std::vector<std::uint8_t>{1, 2, 3});
  check(std::vector<std::int32_t>{1, 2, 3});
  check(std::vector<BFloat16>{BFloat16(1.0F), BFloat16(2.0F), BFloat16(3.0F)});
}

// A kernel on a device cannot report a bad index, and nothing is written there.
TEST(CudaPut, ToWhatIsNotThereWritesNothing) {
  const std::vector<std::int64_t> places = {1, -1, 2, std::numeric_limits<std::int64_t>::max(), 1};
  const Array out({2}, std::vector<float>{10, 20}), indices({5}, places), in({5}, std::vector<float>{1, 2, 3, 4, 5});
  run_on_cuda(Op::put, {updated(out), read(indices), read(in)}, 0);
  EXPECT_EQ(out.values<float>(), (std::vector<float>{10, 5}));
}

// A kernel on a device cannot report a bad index, and nothing is added there.
TEST(CudaScatterAdd, ToWhatIsNotThereAddsNothing) {
  const std::vector<std::int64_t> places = {1, -1, 2, std::numeric_limits<std::int64_t>::max(), 1, 0};
  const Array out({2}, std::vector<float>{10, 20}), indices({6}, places), in({6}, std::vector<float>(6, 2));
  run_on_cuda(Op::scatter_add, {updated(out), read(indices), read(in)}, IndexAttributes{1, 2, 1});
  EXPECT_EQ(out.values<float>(), (std::vector<float>{12, 24}));
}

// A kernel on a device cannot report a bad index, so that the result shows it.
TEST(CudaTake, OfARowThatIsNotThereIsNan) {
  const Array x({2, 1}, std::vector<float>{1, 2}), indices({4}, std::vector<std::int64_t>{1, 2, -1, 0}),
      out({4, 1}, float32);
  run_on_cuda(Op::take, {written(out), read(x), read(indices)}, IndexAttributes{1, 2, 1});
  const std::vector<float> values = out.values<float>();
  EXPECT_EQ(values[0], 2);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 1);

  const Array integers({2, 1}, std::vector<std::int64_t>{1, 2}), integers_out({4, 1}, int64);
  run_on_cuda(Op::take, {written(integers_out), read(integers), read(indices)}, IndexAttributes{1, 2, 1});
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(integers_out.values<std::int64_t>(), (std::vector<std::int64_t>{2, lowest, lowest, 1}));
}

TEST(CudaTakeGrad, OfARowThatIsNotThereAddsNothing) {
  for (const std::int64_t count : {4, 3000}) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(count), 2);
    places.front() = places.back() = 1;
    places[1] = std::numeric_limits<std::int64_t>::min();
    places[2] = std::numeric_limits<std::int64_t>::max();
    const Array dx({2, 1}, std::vector<float>{10, 20}), indices({count}, places);
    const Array dy({count, 1}, std::vector<float>(static_cast<std::size_t>(count), 2));
    run_on_cuda(Op::take_grad, {updated(dx), read(indices), read(dy)}, IndexAttributes{1, 2, 1});
    EXPECT_EQ(dx.values<float>(), (std::vector<float>{10, 24}));
  }
}

}  // namespace

}  // namespace asyncgrad::detail
