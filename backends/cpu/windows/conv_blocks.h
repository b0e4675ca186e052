// How convolutions are cut into blocks, and what their loops need beside the operands. Internal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/backends/conv_extents.h"
#include "asyncgrad/backends/cpu/windows/conv_field.h"
#include "asyncgrad/backends/element_types.h"
#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// Returns what output u reads of the input.
inline ConvTaps taps_of_outputs(const ConvAxis& axis) {
  return {axis.kernel, -axis.padding, axis.dilation, axis.stride, axis.in};
}
// Returns what the inputs u stride + rest read of the output's gradient: the outputs that have read them. They are
// rest_count(axis, rest), and there may be no taps.
ConvTaps taps_of_inputs(const ConvAxis& axis, std::int64_t rest);
inline std::int64_t rest_count(const ConvAxis& axis, std::int64_t rest) {
  return rest < axis.in ? (axis.in - rest - 1) / axis.stride + 1 : 0;
}
// Returns how many outputs or, of a pass over these, inputs the longest pass has along an axis.
inline std::int64_t longest_pass(const ConvAxis& axis, bool of_inputs) {
  return of_inputs ? rest_count(axis, 0) : axis.out;
}

// Cuts images of rows x columns outputs into blocks of about max_pixels: of whole images, else of whole rows.
class ConvGrid {
 public:
  ConvGrid() = default;
  ConvGrid(std::int64_t images, std::int64_t rows, std::int64_t columns, std::int64_t max_pixels, bool one_image);

  std::int64_t count() const { return image_parts_ * row_parts_ * column_parts_; }
  std::int64_t max_pixels() const { return images_per_ * rows_per_ * columns_per_; }
  // The part of it that lies in images of fewer rows and columns; it may be empty.
  ConvBlock block(std::int64_t index, std::int64_t rows, std::int64_t columns) const;

 private:
  std::int64_t images_ = 0, images_per_ = 1, rows_per_ = 1, columns_per_ = 1;
  std::int64_t image_parts_ = 1, row_parts_ = 1, column_parts_ = 1;
};

// The pixels of a block whose vectors go along the outputs, about.
inline constexpr std::int64_t max_gathered_pixels = 512;

// Whether vectors go along the outputs of a group, as they fill most of the lanes; else they go along pixels.
inline bool conv_gathers(std::int64_t outputs, std::int64_t lanes) {
  return 5 * outputs >= 3 * rounded_up(outputs, lanes);
}

// Cuts outputs at multiples of a vector, into parts that are about as wide, of at most `max_vectors` vectors each.
struct ConvPanels {
  std::int64_t outputs, lanes, max_vectors;

  std::int64_t vectors() const { return divided_up(outputs, lanes); }
  std::int64_t count() const { return divided_up(vectors(), max_vectors); }
  Range columns(std::int64_t index) const { return part(index, count()); }
  Range part(std::int64_t index, std::int64_t parts) const {
    return {vectors() * index / parts * lanes, std::min(outputs, vectors() * (index + 1) / parts * lanes)};
  }
};

// Hands out pieces of a thread's scratch memory, each on lines of its own. Without memory it counts what they take.
class ConvScratch {
 public:
  explicit ConvScratch(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* take(std::int64_t elements) {
    std::byte* const piece = memory_ == nullptr ? nullptr : memory_ + taken_bytes_;
    taken_bytes_ += rounded_up(elements * static_cast<std::int64_t>(sizeof(T)), 64);
    return reinterpret_cast<T*>(piece);
  }
  std::int64_t taken_bytes() const { return taken_bytes_; }

 private:
  std::byte* memory_;
  std::int64_t taken_bytes_ = 0;
};

// What the function gives for the type of the operation's elements.
template <class Function>
std::int64_t in_type_of(const KernelCall& call, Function function) {
  std::int64_t result = 0;
  visit_floating(call.dtype(0), [&]<class T>(T) { result = function(T{}); });
  return result;
}

inline constexpr std::int64_t conv_depth = 256;                            // of a panel of the weight
inline constexpr std::int64_t conv_field_elements = 1 << 16;               // of planes that are copied at once
inline constexpr std::int64_t conv_field_room = conv_field_elements + 64;  // vectors are written behind the last

}  // namespace asyncgrad::detail
