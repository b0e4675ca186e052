// Which elements of an input the outputs of a convolution read. Internal.
#pragma once

#include "asyncgrad/backends/conv_extents.h"
#include "asyncgrad/backends/divided.h"

namespace asyncgrad::detail::cuda {

// Where an axis is read under the first element of the kernel; it may lie outside.
__device__ constexpr std::int64_t first_read(const ConvAxis& axis, std::int64_t output) {
  return output * axis.stride - axis.padding;
}

__device__ constexpr bool is_inside(const ConvAxis& axis, std::int64_t input) { return input >= 0 && input < axis.in; }

// function(i, output) for each output that reads this element of the input, which it does under element i of the kernel.
template <class Function>
__device__ void each_reader(const ConvAxis& axis, std::int64_t input, Function function) {
  for (std::int64_t i = 0; i < axis.kernel; ++i) {
    const std::int64_t distance = input + axis.padding - i * axis.dilation;
    if (distance < 0) break;
    const Divided at = axis.stride == 1 ? Divided{distance, 0} : divided(distance, axis.stride);
    if (at.remainder == 0 && at.quotient < axis.out) function(i, at.quotient);
  }
}

// An axis of a convolution that conv_is_small: its places are numbers of 32 bits.
struct SmallAxis {
  int in, out, kernel, stride, padding, dilation;
  Divisor by_stride;

  explicit SmallAxis(const ConvAxis& axis)
      : in(static_cast<int>(axis.in)),
        out(static_cast<int>(axis.out)),
        kernel(static_cast<int>(axis.kernel)),
        stride(static_cast<int>(axis.stride)),
        padding(static_cast<int>(axis.padding)),
        dilation(static_cast<int>(axis.dilation)),
        by_stride(axis.stride) {}

  __device__ int first_read(int output) const { return output * stride - padding; }
  __device__ bool is_inside(int input) const { return static_cast<unsigned>(input) < static_cast<unsigned>(in); }
  // The output that reads this element of the input under element i of the kernel, or -1.
  __device__ int reader(int input, int i) const {
    const int distance = input + padding - i * dilation;
    if (distance < 0) return -1;
    if (stride == 1) return distance < out ? distance : -1;
    const Divided at = by_stride(distance);
    return at.remainder == 0 && at.quotient < out ? static_cast<int>(at.quotient) : -1;
  }
};

// Whether places along its axes, in its planes and in what padding makes of these are numbers of 32 bits, also under a
// few elements past the kernel.
constexpr bool conv_is_small(const ConvExtents& e) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1, past = 4;
  const auto padded = [](const ConvAxis& a) { return a.in + 2 * a.padding; };
  const auto is_small = [&](const ConvAxis& a) {
    return padded(a) <= most / 2 && a.stride <= most && a.kernel + past <= most / 2 / a.dilation;
  };
  return is_small(e.height) && is_small(e.width) && padded(e.height) <= most / padded(e.width);
}

// The pixels of outputs, image by image. The batch is cut into parts, of some images each.
struct ConvPixels {
  std::int64_t batch, parts, rows, columns;
  Divisor by_plane, by_columns, by_parts;

  ConvPixels(std::int64_t images, std::int64_t of_batch, std::int64_t height, std::int64_t width)
      : batch(images),
        parts(of_batch),
        rows(height),
        columns(width),
        by_plane(height * width),
        by_columns(width),
        by_parts(of_batch) {}

  struct Place {
    std::int64_t image, row, column;
  };
  __host__ __device__ std::int64_t plane() const { return rows * columns; }
  __host__ __device__ std::int64_t first_image(std::int64_t part) const {
    return parts == 1 ? part * batch : by_parts(part * batch).quotient;
  }
  __host__ __device__ std::int64_t of_largest_part() const { return (batch + parts - 1) / parts * plane(); }
  // The pixel of a part; the image is one of the next part if the part has no such pixel.
  __device__ Place place(std::int64_t part, std::int64_t pixel) const {
    const Divided in_image = by_plane(pixel), in_row = by_columns(in_image.remainder);
    return {first_image(part) + in_image.quotient, in_row.quotient, in_row.remainder};
  }
  __device__ bool is_there(std::int64_t part, const Place& place) const { return place.image < first_image(part + 1); }
};

}  // namespace asyncgrad::detail::cuda
