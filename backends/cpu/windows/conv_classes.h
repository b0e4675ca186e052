// Outputs of a convolution in classes: those of a class have the same elements of the kernel inside of the image. The
// others read padding and add nothing, which in small planes is much of the work. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asyncgrad/backends/cpu/windows/conv_field.h"

namespace asyncgrad::detail {

// The classes of the outputs along one axis.
class ConvAxisClasses {
 public:
  static constexpr std::size_t max_count = 4;

  ConvAxisClasses(const ConvTaps& axis, Range outputs);

  // There may be more than max_count, which are not listed.
  bool are_too_many() const { return are_too_many_; }
  // The taps of each.
  std::span<const Range> taps() const { return {taps_.data(), count_}; }
  std::int64_t outputs_of(Range taps) const;
  // Calls visit(output) for each output of a class.
  template <class Visit>
  void each_output(Range taps, Visit visit) const {
    for (std::int64_t output = outputs_.begin; output < outputs_.end; ++output) {
      if (axis_.inside(output) == taps) visit(output);
    }
  }

 private:
  ConvTaps axis_;
  Range outputs_;
  std::array<Range, max_count> taps_{};
  std::size_t count_ = 0;
  bool are_too_many_ = false;
};

struct ConvClass {
  Range rows, columns;  // the taps that count
  Range pixels;         // in the lists
  std::int64_t taps() const { return (rows.end - rows.begin) * (columns.end - columns.begin); }
};

// The pixels of a block in classes; in a single one, of all taps, where others would not pay.
class ConvClasses {
 public:
  // Lists the pixels class by class: the offset of each in the field, and its number in the block.
  ConvClasses(const ConvTaps& height, const ConvTaps& width, const ConvBlock& block, const ConvField& field,
              std::int64_t* offsets, std::int64_t* numbers);

  std::span<const ConvClass> all() const { return {classes_.data(), count_}; }

 private:
  std::array<ConvClass, ConvAxisClasses::max_count * ConvAxisClasses::max_count> classes_{};
  std::size_t count_ = 0;
};

}  // namespace asyncgrad::detail
