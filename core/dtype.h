// The element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace asyncgrad {

// float32 is the default, float64 serves gradient checks, int64 holds labels and indices.
enum class DType : std::uint8_t { float32, float64, int64 };
inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType int64 = DType::int64;
inline constexpr int dtype_count = 3;

constexpr std::size_t size_bytes(DType dtype) { return dtype == DType::float32 ? 4 : 8; }
constexpr bool is_floating(DType dtype) { return dtype != DType::int64; }
constexpr const char* name(DType dtype) {
  return dtype == DType::float32 ? "float32" : dtype == DType::float64 ? "float64" : "int64";
}

// Sets the floating type of what factories and layers make unless told otherwise; at first it is float32. The setting
// is the process's: set it before threads that create tensors start. Throws Error for a type that is not float32 or
// float64.
void set_default_dtype(DType dtype);
DType default_dtype();

// The DType of a C++ type: dtype_of<float> == float32. Other types have none.
template <class T>
struct DTypeOf {
  static_assert(!std::is_same_v<T, T>,
                "a tensor's elements are float, double or std::int64_t: convert the values first");
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

namespace detail {

// Calls function(T{}) for the C++ type of `dtype`, and returns what it returns.
template <class Function>
auto visit_dtype(DType dtype, Function function) {
  switch (dtype) {
    case DType::float32:
      return function(float{});
    case DType::float64:
      return function(double{});
    case DType::int64:
      break;
  }
  return function(std::int64_t{});
}

}  // namespace detail

}  // namespace asyncgrad
