#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {
namespace {

struct Case {
  std::int64_t batch, channels, outputs, edge, kernel, padding, stride, groups;
};

struct Arrays {
  Array x, w, y, parts;

  Arrays(const Case& c, DType dtype)
      : x({c.batch, c.channels, c.edge, c.edge}, dtype),
        w({c.outputs, c.channels / c.groups, c.kernel, c.kernel}, dtype),
        y({c.batch, c.outputs, out(c), out(c)}, dtype),
        parts({conv_weight_parts(c.batch, c.groups, w.shape[1], c.kernel * c.kernel, c.outputs / c.groups) * c.groups,
               w.shape[1], c.kernel, c.kernel, c.outputs / c.groups},
              dtype) {}
  static std::int64_t out(const Case& c) { return (c.edge + 2 * c.padding - c.kernel) / c.stride + 1; }
};
ConvAttributes attributes_of(const Case& c) {
  return {.stride = {c.stride, c.stride}, .padding = {c.padding, c.padding}, .dilation = {1, 1}, .groups = c.groups};
}

std::int64_t scratch_bytes(Op op, const std::vector<View>& views, const ConvAttributes& attributes) {
  const Kernel& kernel = cpu_backend().kernels[static_cast<std::size_t>(op)];
  return kernel.scratch_bytes({views.data(), static_cast<int>(views.size()), &attributes});
}

TEST(ConvKernels, TakeLittleBesideTheirOperands) {
  for (const Case& c : {Case{32, 32, 64, 28, 3, 0, 1, 1}, Case{8, 256, 64, 14, 3, 1, 1, 1},
                        Case{16, 3, 16, 64, 7, 3, 2, 1}, Case{1, 64, 64, 56, 3, 1, 1, 1}}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Arrays a(c, dtype);
      const std::int64_t all_columns = a.y.shape.numel() / c.outputs * (a.w.shape.numel() / c.outputs);
      const std::int64_t most = all_columns * static_cast<std::int64_t>(size_bytes(dtype)) / 8;
      EXPECT_LE(scratch_bytes(Op::conv, {written(a.y), read(a.x), read(a.w)}, attributes_of(c)), most);
      EXPECT_LE(scratch_bytes(Op::conv_input, {written(a.x), read(a.y), read(a.w)}, attributes_of(c)), most);
      EXPECT_LE(scratch_bytes(Op::conv_weight, {written(a.parts), read(a.x), read(a.y)}, attributes_of(c)), most);
    }
  }
}

// With ones everywhere every result is a count, which is exact. Every element must be written.
template <class T>
void expect_counts(const Case& c) {
  const DType dtype = dtype_of<T>;
  const Arrays shapes(c, dtype);
  const auto ones = [](const Shape& shape) {
    return Array(shape, std::vector<T>(static_cast<std::size_t>(shape.numel()), T{1}));
  };
  const auto total = [](const Array& array) {
    double sum = 0;
    for (const T value : array.values<T>()) sum += static_cast<double>(value);
    return sum;
  };
  const Array x = ones(shapes.x.shape), w = ones(shapes.w.shape), y = ones(shapes.y.shape);
  const ConvAttributes attributes = attributes_of(c);
  run_kernel(Op::conv, {written(shapes.y), read(x), read(w)}, attributes);
  run_kernel(Op::conv_input, {written(shapes.x), read(y), read(w)}, attributes);
  run_kernel(Op::conv_weight, {written(shapes.parts), read(x), read(y)}, attributes);
  EXPECT_GT(total(shapes.y), 0);
  EXPECT_EQ(total(shapes.x), total(shapes.y));
  EXPECT_EQ(total(shapes.parts), total(shapes.y));
  if (c.padding == 0) {
    EXPECT_EQ(total(shapes.y), static_cast<double>(shapes.y.shape.numel() * w.shape.numel() / c.outputs));
  }
}

TEST(ConvKernels, CountEveryElementOnce) {
  for (const Case& c :
       {Case{1, 1, 1, 1, 1, 0, 1, 1}, Case{2, 3, 5, 7, 3, 0, 1, 1}, Case{2, 3, 5, 7, 3, 2, 2, 1},
        Case{3, 40, 17, 9, 3, 1, 1, 1}, Case{2, 300, 5, 8, 1, 0, 1, 1}, Case{2, 8, 8, 17, 5, 2, 3, 8},
        Case{1, 300, 33, 10, 1, 0, 2, 3}, Case{9, 1, 6, 20, 5, 0, 1, 1}, Case{3, 40, 80, 7, 3, 1, 2, 40},
        Case{1, 33, 33, 61, 3, 1, 2, 33}, Case{2, 24, 24, 5, 9, 4, 1, 24}, Case{64, 6, 16, 14, 5, 0, 1, 1},
        Case{39, 10, 20, 7, 3, 0, 2, 2}, Case{33, 20, 4, 4, 3, 2, 1, 1}, Case{32, 5, 9, 11, 2, 0, 3, 1},
        Case{2, 40, 30, 12, 5, 2, 1, 1}, Case{1, 20, 64, 30, 3, 1, 1, 1}}) {
    SCOPED_TRACE(::testing::Message() << c.channels << " channels, edge " << c.edge);
    expect_counts<float>(c);
    expect_counts<double>(c);
  }
}

// Large batches of small images are computed with vectors along the images.
template <class T>
void expect_the_bits_of_single_images(const Case& c) {
  const Arrays shapes(c, dtype_of<T>);
  const auto random = [](const Shape& shape, unsigned seed) {
    return Array(shape, random_values<T>(shape.numel(), seed));
  };
  const auto image_of = [](const Array& batch, std::int64_t image) {
    const std::int64_t size = batch.shape.numel() / batch.shape[0];
    const std::vector<T> all = batch.values<T>();
    return Array(batch.shape.with(0, 1), std::vector<T>(all.begin() + image * size, all.begin() + (image + 1) * size));
  };
  const Array x = random(shapes.x.shape, 1), w = random(shapes.w.shape, 2), dy = random(shapes.y.shape, 3);
  const ConvAttributes attributes = attributes_of(c);
  run_kernel(Op::conv, {written(shapes.y), read(x), read(w)}, attributes);
  run_kernel(Op::conv_input, {written(shapes.x), read(dy), read(w)}, attributes);
  for (const std::int64_t image : {std::int64_t{0}, c.batch - 1}) {
    const Array y(shapes.y.shape.with(0, 1), dtype_of<T>), dx(shapes.x.shape.with(0, 1), dtype_of<T>);
    run_kernel(Op::conv, {written(y), read(image_of(x, image)), read(w)}, attributes);
    run_kernel(Op::conv_input, {written(dx), read(image_of(dy, image)), read(w)}, attributes);
    expect_same_bits(y.values<T>(), image_of(shapes.y, image).template values<T>());
    expect_same_bits(dx.values<T>(), image_of(shapes.x, image).template values<T>());
  }
}

TEST(ConvKernels, ComputeImagesOfLargeBatchesAsSingleOnes) {
  for (const Case& c : {Case{64, 6, 16, 14, 5, 0, 1, 1}, Case{39, 10, 20, 7, 3, 0, 2, 2},
                        Case{33, 20, 4, 4, 3, 2, 1, 1}, Case{70, 1, 3, 5, 3, 2, 1, 1}}) {
    SCOPED_TRACE(testing::Message() << c.batch << " images, edge " << c.edge);
    expect_the_bits_of_single_images<float>(c);
    expect_the_bits_of_single_images<double>(c);
  }
}

}  // namespace
}  // namespace asyncgrad::detail
