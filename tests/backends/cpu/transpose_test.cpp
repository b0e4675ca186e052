#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

namespace {

// Any exchange of axes, element by element.
template <class T>
std::vector<T> exchanged(const std::vector<T>& in, const Shape& in_shape, const std::vector<int>& axes,
                         const Shape& out) {
  std::vector<std::int64_t> strides(axes.size());
  std::int64_t stride = 1;
  for (int i = in_shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = stride;
    stride *= in_shape[i];
  }
  std::vector<T> result;
  for (std::int64_t position = 0; position < out.numel(); ++position) {
    std::int64_t at = 0, rest = position;
    for (int i = out.rank() - 1; i >= 0; --i) {
      at += rest % out[i] * strides[static_cast<std::size_t>(axes[static_cast<std::size_t>(i)])];
      rest /= out[i];
    }
    result.push_back(in[static_cast<std::size_t>(at)]);
  }
  return result;
}

template <class T>
void check_transpose(const Shape& in_shape, const std::vector<int>& axes) {
  SCOPED_TRACE(in_shape.str());
  TransposeAttributes attributes;
  Shape out_shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    attributes.axes[i] = static_cast<std::int8_t>(axes[i]);
    out_shape.append(in_shape[axes[i]]);
  }
  const std::vector<T> in = random_values<T>(in_shape.numel(), 1, -1e6, 1e6);
  const Array out(out_shape, dtype_of<T>), x(in_shape, in);
  run_kernel(Op::transpose, {written(out), read(x)}, attributes);
  expect_same_bits(out.values<T>(), exchanged(in, in_shape, axes, out_shape));
}

template <class T>
void check_all_transposes() {
  check_transpose<T>({}, {});
  check_transpose<T>({7}, {0});
  check_transpose<T>({3, 5}, {1, 0});
  check_transpose<T>({1, 5}, {1, 0});
  check_transpose<T>({0, 5}, {1, 0});
  check_transpose<T>({500, 333}, {1, 0});
  check_transpose<T>({500, 33}, {0, 1});
  check_transpose<T>({6, 40, 50}, {0, 2, 1});
  check_transpose<T>({40, 6, 50}, {1, 0, 2});
  check_transpose<T>({40, 6, 50}, {2, 1, 0});
  check_transpose<T>({40, 6, 50}, {1, 2, 0});
  check_transpose<T>({40, 1, 50}, {2, 0, 1});
  check_transpose<T>({2, 3, 4, 5, 6, 7}, {5, 3, 1, 0, 2, 4});
  check_transpose<T>({2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 4, 5});
}

TEST(Transpose, ExchangesAnyAxes) {
  check_all_transposes<float>();
  check_all_transposes<double>();
  check_all_transposes<std::int64_t>();
}

}  // namespace

}  // namespace asyncgrad::detail
