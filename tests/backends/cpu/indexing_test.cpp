#include <string>

#include "asyncgrad/core/error.h"
#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

std::vector<std::int64_t> scattered_indices(std::int64_t count, std::int64_t rows) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * i % rows);
  return indices;
}

template <class T>
void check_take(std::int64_t rows, std::int64_t count, std::int64_t elements) {
  const std::vector<T> in = random_values<T>(rows * elements, 1, -100, 100);
  const std::vector<std::int64_t> indices = scattered_indices(count, rows);
  const Array out({count, elements}, dtype_of<T>), x({rows, elements}, in), k(count, indices);
  run_kernel(Op::take, {written(out), read(x), read(k)}, 0);
  std::vector<T> expected;
  for (const std::int64_t row : indices)
    expected.insert(expected.end(), in.begin() + row * elements, in.begin() + (row + 1) * elements);
  expect_same_bits(out.values<T>(), expected);
}

TEST(Take, CopiesRows) {
  check_take<float>(10, 25, 7);
  check_take<double>(3, 2000, 100);
  check_take<std::int64_t>(10, 5, 1);
  check_take<float>(10, 0, 7);
  check_take<float>(10, 3, 0);
}

template <class T>
void check_take_grad(std::int64_t rows, std::int64_t count, std::int64_t elements) {
  std::vector<T> expected = random_values<T>(rows * elements, 1);
  const std::vector<T> slopes = random_values<T>(count * elements, 2);
  const std::vector<std::int64_t> indices = scattered_indices(count, rows);
  const Array dx({rows, elements}, expected), k(count, indices), dy({count, elements}, slopes);
  run_kernel(Op::take_grad, {updated(dx), read(k), read(dy)}, 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(elements); ++j) {
      expected[static_cast<std::size_t>(indices[i] * elements) + j] +=
          slopes[i * static_cast<std::size_t>(elements) + j];
    }
  }
  expect_same_bits(dx.values<T>(), expected);
}

TEST(TakeGrad, AddsRowsInTheirOrder) {
  check_take_grad<float>(10, 25, 7);
  check_take_grad<float>(5, 3000, 300);
  check_take_grad<double>(1, 1000, 1);
  check_take_grad<double>(10, 0, 3);
  check_take_grad<float>(10, 3, 0);
}

TEST(Take, RefusesIndicesOutsideTheRows) {
  const Array x({10, 2}, std::vector<float>(20, 1)), out({4, 2}, float32);
  const std::vector<float> before = out.values<float>();
  for (const std::int64_t wrong : {std::int64_t{12}, std::int64_t{10}, std::int64_t{-1}}) {
    const Array indices(Shape{4}, std::vector<std::int64_t>{0, 9, 3, wrong});
    const std::string message = "index " + std::to_string(wrong) + " at position 3 is outside 10 rows";
    try {
      run_kernel(Op::take, {written(out), read(x), read(indices)}, 0);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "[take] " + message);
    }
    try {
      run_kernel(Op::take_grad, {updated(x), read(indices), read(out)}, 0);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "[take_grad] " + message);
    }
  }
  expect_same_bits(out.values<float>(), before);
  expect_same_bits(x.values<float>(), std::vector<float>(20, 1));
}

}  // namespace

}  // namespace asyncgrad::detail
