// The inputs of an elementwise operation in the layout of its output, a block at a time, for outputs with short rows.
// Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cpu/elementwise/elementwise_loops.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/cpu/vectors/pack_rows.h"
#include "asyncgrad/core/backend/round_up.h"

namespace asyncgrad::detail {

// Blocks are of whole rows and begin at a multiple of their size, so that an input that is repeated every so many
// elements is the same in all of them. A row has at most `capacity` elements.
template <class T, std::size_t count>
class InputBlocks {
 public:
  static constexpr std::int64_t capacity = 1024;

  // Computes `range` of the output's elements. Flat inputs have the layout of the output.
  InputBlocks(const Broadcast& broadcast, const std::array<const T*, count>& data,
              const std::array<bool, count>& is_flat, Range range)
      : broadcast_(broadcast), data_(data), packing_(row_packing(sizeof(T))) {
    std::int64_t unit = columns();
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t period = period_of(static_cast<int>(k));
      source_[k] = is_flat[k]           ? Source::flat
                   : period == 1        ? Source::one_element
                   : period <= capacity ? Source::packed_once
                                        : Source::packed_each_time;
      // Every period is a multiple of all shorter periods.
      if (source_[k] == Source::packed_once) unit = std::max(unit, period);
    }
    const std::int64_t needed = rounded_up(range.end, unit);
    size_ = std::min(capacity / unit * unit, needed);
    has_order_ = std::min(size_, range.end - range.begin) >= min_for_order && packing_.find_order(columns(), order_);
    for (std::size_t k = 0; k < count; ++k) {
      if (source_[k] == Source::packed_once) pack(k, {0, size_ / columns()});
    }
  }
  InputBlocks(const InputBlocks&) = delete;
  InputBlocks& operator=(const InputBlocks&) = delete;

  // The end of the block that has element `begin`.
  std::int64_t end_from(std::int64_t begin) const { return begin / size_ * size_ + size_; }

  // The inputs of a range within a block; they are valid until the next call.
  std::array<LoopInput, count> inputs(Range range) {
    std::array<LoopInput, count> in;
    for (std::size_t k = 0; k < count; ++k) in[k] = input(k, range);
    return in;
  }

 private:
  enum class Source { flat, one_element, packed_once, packed_each_time };
  // For fewer elements, finding the order costs more than it saves.
  static constexpr std::int64_t min_for_order = 256;

  std::int64_t columns() const { return broadcast_.columns(); }

  // The number of elements after which an input repeats itself: 1 for a single element.
  std::int64_t period_of(int input) const {
    int axis = 0;
    while (axis < broadcast_.rank() && broadcast_.stride(input, axis) == 0) ++axis;
    std::int64_t period = 1;
    for (; axis < broadcast_.rank(); ++axis) period *= broadcast_.extent(axis);
    return period;
  }

  LoopInput input(std::size_t k, Range range) {
    switch (source_[k]) {
      case Source::flat:
        return {data_[k] + range.begin, 1};
      case Source::one_element:
        return {data_[k], 0};
      case Source::packed_once:
        return {packed_[k] + range.begin % size_, 1};
      case Source::packed_each_time:
        break;
    }
    const std::int64_t first_row = range.begin / columns();
    pack(k, {first_row, (range.end - 1) / columns() + 1});
    return {packed_[k] + (range.begin - first_row * columns()), 1};
  }

  void pack(std::size_t k, Range rows) {
    const int input = static_cast<int>(k), axis = broadcast_.rank() - 2;
    const std::int64_t extent = broadcast_.extent(axis);
    for (std::int64_t row = rows.begin; row < rows.end;) {
      const std::int64_t end = std::min(rows.end, (row / extent + 1) * extent);
      const PackedRows run{data_[k] + broadcast_.offset(input, row * columns()), broadcast_.stride(input, axis),
                           end - row, columns(), broadcast_.column_step(input)};
      packing_.pack(run, has_order_ ? &order_ : nullptr, packed_[k] + (row - rows.begin) * columns());
      row = end;
    }
  }

  const Broadcast& broadcast_;
  const std::array<const T*, count>& data_;
  const RowPacking& packing_;
  std::array<Source, count> source_;
  std::int64_t size_;
  bool has_order_;
  RepeatOrder order_;
  alignas(64) T packed_[count][capacity + overhang_bytes / sizeof(T)];
};

}  // namespace asyncgrad::detail
