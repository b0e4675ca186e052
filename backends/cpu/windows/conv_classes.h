// Outputs of a convolution in classes: those of a class have the same elements of the kernel inside of the image. The
// others read padding and add nothing, which in small planes is much of the work. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asyncgrad/backends/cpu/windows/conv_field.h"

namespace asyncgrad::detail {

// The classes of the outputs along one axis. Those of a class lie side by side, as windows move one way. Where there
// would be too many, neighbours share one, with the taps of both.
class ConvAxisClasses {
 public:
  static constexpr std::size_t max_count = 8;
  struct Class {
    Range taps, outputs;
    std::int64_t tap_count() const { return taps.end - taps.begin; }
    std::int64_t output_count() const { return outputs.end - outputs.begin; }
  };

  ConvAxisClasses(const ConvTaps& axis, Range outputs);
  // All outputs in one class, with all taps.
  static ConvAxisClasses whole(const ConvTaps& axis, Range outputs);

  std::span<const Class> all() const { return {classes_.data(), count_}; }

 private:
  ConvAxisClasses() = default;
  // Lists them if classes whose outputs differ by at most so many taps are few enough.
  bool list(const ConvTaps& axis, Range outputs, std::int64_t most_different);

  std::array<Class, max_count> classes_{};
  std::size_t count_ = 0;
};

struct ConvClass {
  Range rows, columns;  // the taps that count
  Range pixels;         // in the lists
};

// The pixels of a block in classes, along the axes for which they pay.
class ConvClasses {
 public:
  // Lists the pixels class by class, see ConvField::list_pixels().
  ConvClasses(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvField& field,
              std::int64_t* offsets, std::int64_t* numbers);

  std::span<const ConvClass> all() const { return {classes_.data(), count_}; }

 private:
  std::array<ConvClass, ConvAxisClasses::max_count * ConvAxisClasses::max_count> classes_{};
  std::size_t count_ = 0;
};

}  // namespace asyncgrad::detail
