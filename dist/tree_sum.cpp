#include "asyncgrad/dist/tree_sum.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "asyncgrad/core/backend/wrapping_sum.h"

namespace asyncgrad::dist {

namespace {

// What is added at a time, so that it stays in the nearest cache until it is divided.
constexpr std::int64_t block_elements = 1024;

template <class T>
void add(T* to, const T* from, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] = detail::wrapping_sum(from[i], to[i]);
}

// The sum of the rows' elements from `begin` on is left in the first row.
template <class T>
T* sum_rows(std::span<std::byte* const> rows, std::int64_t begin, std::int64_t elements) {
  if (rows.size() == 1) return reinterpret_cast<T*>(rows[0]) + begin;
  const std::size_t half = rows.size() / 2;
  T* const left = sum_rows<T>(rows.first(half), begin, elements);
  add(left, sum_rows<T>(rows.subspan(half), begin, elements), elements);
  return left;
}

template <class T>
void divide(const T* from, T* to, std::int64_t elements, int divisor) {
  if (divisor == 1) {
    if (from != to) std::copy_n(from, elements, to);
    return;
  }
  if constexpr (std::is_floating_point_v<T>) {
    // The reciprocal of a power of two is exact, and so the product has the bits of the quotient.
    if (std::has_single_bit(static_cast<unsigned>(divisor))) {
      const T factor = T{1} / static_cast<T>(divisor);
      for (std::int64_t i = 0; i < elements; ++i) to[i] = from[i] * factor;
      return;
    }
  }
  for (std::int64_t i = 0; i < elements; ++i) to[i] = from[i] / static_cast<T>(divisor);
}

// Calls body(begin, count) for each block.
template <class Body>
void for_blocks(std::int64_t elements, Body&& body) {
  for (std::int64_t begin = 0; begin < elements; begin += block_elements) {
    body(begin, std::min(block_elements, elements - begin));
  }
}

// Calls body(T{}) for the element type.
template <class Body>
void with_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float32:
      return body(float{});
    case DType::float64:
      return body(double{});
    default:
      return body(std::int64_t{});
  }
}

}  // namespace

void tree_sum(std::span<std::byte* const> rows, std::byte* to, std::int64_t elements, DType dtype, int divisor) {
  with_type(dtype, [&]<class T>(T) {
    for_blocks(elements, [&](std::int64_t begin, std::int64_t count) {
      const T* const sums = sum_rows<T>(rows, begin, count);
      divide(sums, reinterpret_cast<T*>(to) + begin, count, divisor);
    });
  });
}

void add_terms(std::span<const std::byte* const> terms, std::byte* to, std::int64_t elements, DType dtype) {
  with_type(dtype, [&]<class T>(T) {
    for_blocks(elements, [&](std::int64_t begin, std::int64_t count) {
      for (std::size_t i = terms.size(); i-- > 0;) {
        add(reinterpret_cast<T*>(to) + begin, reinterpret_cast<const T*>(terms[i]) + begin, count);
      }
    });
  });
}

}  // namespace asyncgrad::dist
