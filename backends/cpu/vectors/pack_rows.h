// Copies rows of an input that is broadcast into adjacent elements. Internal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace asyncgrad::detail {

// Rows of `columns` elements, `row_step` elements apart. With a column step of 0 a row is one element, repeated.
struct PackedRows {
  const void* data;
  std::int64_t row_step, rows, columns;
  int column_step;
};

// The index in a vector of rows of each element of the output: repeating short rows needs this order.
struct RepeatOrder {
  alignas(64) std::int64_t lanes[256];
};

struct RowPacking {
  // Writes the rows one after another. `out` has room for `overhang_bytes` behind them. `order` is used if it is not
  // null and the rows are single elements: it is what `find_order` has made for this number of columns.
  void (*pack)(const PackedRows& rows, const RepeatOrder* order, void* out);
  // Returns false, and makes nothing, for so many columns that packing needs no order.
  bool (*find_order)(std::int64_t columns, RepeatOrder& order);
};
inline constexpr std::size_t overhang_bytes = 64;

// For elements of 1, 4 or 8 bytes, for the best instruction set that this processor has.
const RowPacking& row_packing(std::size_t element_bytes);

}  // namespace asyncgrad::detail
