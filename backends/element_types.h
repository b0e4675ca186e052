// What the kernels of every backend do first: find their element type. Internal.
#pragma once

#include <cstdint>
#include <type_traits>

#include "asyncgrad/core/kernels.h"

namespace asyncgrad::detail {

// Calls function(T{}) for the C++ type of `dtype`.
template <class Function>
void visit_dtype(DType dtype, Function function) {
  switch (dtype) {
    case DType::float32:
      return function(float{});
    case DType::float64:
      return function(double{});
    case DType::int64:
      return function(std::int64_t{});
  }
}
// The same for types that are known to be floating.
template <class Function>
void visit_floating(DType dtype, Function function) {
  if (dtype == DType::float32) return function(float{});
  function(double{});
}

// A number in the type T of its tensor.
template <class T>
constexpr T number_as(Number number) {
  if constexpr (std::is_integral_v<T>) {
    return number.integer;
  } else {
    return static_cast<T>(number.floating);
  }
}

inline Kernel& kernel_of(Backend& backend, Op op) { return backend.kernels[static_cast<std::size_t>(op)]; }

}  // namespace asyncgrad::detail
