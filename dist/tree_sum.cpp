#include "asyncgrad/dist/tree_sum.h"

namespace asyncgrad::dist {

namespace {

template <class T>
void add(T* to, const T* from, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) to[i] += from[i];
}

template <class T>
void sum_rows(T* rows, int count, std::int64_t elements) {
  if (count < 2) return;
  const int half = count / 2;
  T* const others = rows + half * elements;
  sum_rows(rows, half, elements);
  sum_rows(others, count - half, elements);
  add(rows, others, elements);
}

template <class T>
void sum_and_divide(std::byte* bytes, int count, std::int64_t elements, int divisor) {
  T* const rows = reinterpret_cast<T*>(bytes);
  sum_rows(rows, count, elements);
  if (divisor == 1) return;
  for (std::int64_t i = 0; i < elements; ++i) rows[i] /= static_cast<T>(divisor);
}

}  // namespace

void tree_sum(std::byte* rows, int count, std::int64_t elements, DType dtype, int divisor) {
  switch (dtype) {
    case DType::float32:
      return sum_and_divide<float>(rows, count, elements, divisor);
    case DType::float64:
      return sum_and_divide<double>(rows, count, elements, divisor);
    default:
      return sum_and_divide<std::int64_t>(rows, count, elements, divisor);
  }
}

}  // namespace asyncgrad::dist
