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

// The pixels of outputs, image by image. The batch is cut into parts, of some images each.
struct ConvPixels {
  std::int64_t batch, parts, rows, columns;

  struct Place {
    std::int64_t image, row, column;
  };
  __host__ __device__ std::int64_t plane() const { return rows * columns; }
  __host__ __device__ std::int64_t first_image(std::int64_t part) const {
    return parts == 1 ? part * batch : divided(part * batch, parts).quotient;
  }
  __host__ __device__ std::int64_t of_largest_part() const { return (batch + parts - 1) / parts * plane(); }
  // The pixel of a part; the image is one of the next part if the part has no such pixel.
  __device__ Place place(std::int64_t part, std::int64_t pixel) const {
    const Divided in_image = divided(pixel, plane()), in_row = divided(in_image.remainder, columns);
    return {first_image(part) + in_image.quotient, in_row.quotient, in_row.remainder};
  }
  __device__ bool is_there(std::int64_t part, const Place& place) const { return place.image < first_image(part + 1); }
};

}  // namespace asyncgrad::detail::cuda
