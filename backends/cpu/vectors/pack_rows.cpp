// Compiled once for every instruction set.
#include "asyncgrad/backends/cpu/vectors/pack_rows.h"

#include <cstring>

#include <algorithm>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/vectors/pack_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whole vectors are stored; what goes beyond a row is overwritten by the next one.
template <class T>
HWY_INLINE void copy_rows(const PackedRows& rows, T* out) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  HWY_ALIGN T beside[lanes];
  const T* row = static_cast<const T*>(rows.data);
  for (std::int64_t r = 0; r < rows.rows; ++r, row += rows.row_step, out += rows.columns) {
    std::int64_t j = 0;
    for (; j + lanes <= rows.columns; j += lanes) hn::StoreU(hn::LoadU(d, row + j), d, out + j);
    if (j < rows.columns) hn::StoreU(load_part(row + j, rows.columns - j, beside), d, out + j);
  }
}

template <class T>
HWY_INLINE void repeat_elements(const PackedRows& rows, T* out) {
  const hn::ScalableTag<T> d;
  const T* element = static_cast<const T*>(rows.data);
  for (std::int64_t r = 0; r < rows.rows; ++r, element += rows.row_step, out += rows.columns) {
    const auto repeated = hn::Set(d, *element);
    for (std::int64_t j = 0; j < rows.columns; j += lanes_of<T>) hn::StoreU(repeated, d, out + j);
  }
}

// If each element of a vector is repeated for every column, the results fill as many vectors as there are columns.
template <class T>
HWY_INLINE void repeat_by_order(const PackedRows& rows, const RepeatOrder& order, T* out) {
  const hn::ScalableTag<T> d;
  using Index = hwy::MakeSigned<T>;
  constexpr std::int64_t lanes = lanes_of<T>;
  const auto* const indices = reinterpret_cast<const Index*>(order.lanes);
  const T* element = static_cast<const T*>(rows.data);
  HWY_ALIGN T gathered[lanes] = {};
  for (std::int64_t r = 0; r < rows.rows; r += lanes, element += lanes * rows.row_step) {
    const std::int64_t count = std::min(lanes, rows.rows - r);
    auto elements = hn::Zero(d);
    if (rows.row_step == 1 && count == lanes) {
      elements = hn::LoadU(d, element);
    } else {
      for (std::int64_t i = 0; i < count; ++i) gathered[i] = element[i * rows.row_step];
      elements = hn::Load(d, gathered);
    }
    const std::int64_t end = count * rows.columns;
    for (std::int64_t j = 0; j < end; j += lanes) {
      hn::StoreU(hn::TableLookupLanes(elements, hn::SetTableIndices(d, indices + j)), d, out + j);
    }
    out += end;
  }
}

template <class T>
bool find_order(std::int64_t columns, RepeatOrder& order) {
  constexpr std::int64_t lanes = lanes_of<T>;
  if (columns >= lanes) return false;
  auto* index = reinterpret_cast<hwy::MakeSigned<T>*>(order.lanes);
  static_assert(lanes * lanes * sizeof(T) <= sizeof(order.lanes));
  for (std::int64_t element = 0; element < lanes; ++element) {
    for (std::int64_t j = 0; j < columns; ++j) *index++ = static_cast<hwy::MakeSigned<T>>(element);
  }
  return true;
}

template <class T>
void pack(const PackedRows& rows, const RepeatOrder* order, void* out) {
  static_assert(lanes_of<T> * sizeof(T) <= overhang_bytes);
  if (rows.column_step == 1) {
    copy_rows(rows, static_cast<T*>(out));
  } else if (order != nullptr) {
    repeat_by_order(rows, *order, static_cast<T*>(out));
  } else {
    repeat_elements(rows, static_cast<T*>(out));
  }
}

template <class T>
const RowPacking& packing() {
  static constexpr RowPacking functions{pack<T>, find_order<T>};
  return functions;
}
const RowPacking& packing4() { return packing<std::uint32_t>(); }
const RowPacking& packing8() { return packing<std::uint64_t>(); }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(packing4);
HWY_EXPORT(packing8);

namespace {

// This is for rows of bools, which one function of the system copies or fills.
void pack_bytes(const PackedRows& rows, const RepeatOrder*, void* out) {
  const auto* row = static_cast<const unsigned char*>(rows.data);
  auto* to = static_cast<unsigned char*>(out);
  const auto columns = static_cast<std::size_t>(rows.columns);
  for (std::int64_t i = 0; i < rows.rows; ++i, row += rows.row_step, to += columns) {
    if (rows.column_step == 1) {
      std::memcpy(to, row, columns);
    } else {
      std::memset(to, *row, columns);
    }
  }
}

}  // namespace

const RowPacking& row_packing(std::size_t element_bytes) {
  static constexpr RowPacking one{pack_bytes, [](std::int64_t, RepeatOrder&) { return false; }};
  static const RowPacking &four = HWY_DYNAMIC_DISPATCH(packing4)(), &eight = HWY_DYNAMIC_DISPATCH(packing8)();
  return element_bytes == 1 ? one : element_bytes == 4 ? four : eight;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
