// The element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "asyncgrad/core/bfloat16.h"

namespace asyncgrad {

// float32 is the default, float64 serves gradient checks, int64 holds labels and indices, and boolean, whose name in
// messages is bool, the results of comparisons. int32, uint8 and bfloat16 are for storage: tensors of them are made,
// converted, copied, joined, indexed and saved, bfloat16 is multiplied by matmul, and other arithmetic throws Error.
enum class DType : std::uint8_t { float32, float64, int64, int32, uint8, bfloat16, boolean };
inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType int64 = DType::int64;
inline constexpr DType int32 = DType::int32;
inline constexpr DType uint8 = DType::uint8;
inline constexpr DType bfloat16 = DType::bfloat16;
inline constexpr DType boolean = DType::boolean;
inline constexpr int dtype_count = 7;

namespace detail {

struct DTypeTraits {
  const char* name;
  std::size_t size_bytes;
  bool is_floating, has_arithmetic;
};
inline constexpr DTypeTraits dtype_traits[dtype_count] = {
    {"float32", 4, true, true}, {"float64", 8, true, true},   {"int64", 8, false, true}, {"int32", 4, false, false},
    {"uint8", 1, false, false}, {"bfloat16", 2, true, false}, {"bool", 1, false, false}};
constexpr const DTypeTraits& traits_of(DType dtype) { return dtype_traits[static_cast<std::size_t>(dtype)]; }

}  // namespace detail

constexpr std::size_t size_bytes(DType dtype) { return detail::traits_of(dtype).size_bytes; }
constexpr bool is_floating(DType dtype) { return detail::traits_of(dtype).is_floating; }
// True for float32, float64 and int64, in which operations compute; bool takes the type of what it is combined with.
constexpr bool has_arithmetic(DType dtype) { return detail::traits_of(dtype).has_arithmetic; }
constexpr const char* name(DType dtype) { return detail::traits_of(dtype).name; }

// Sets the floating type that factories and layers use by default; at first it is float32. The setting is the
// process's: set it before threads that create tensors start. Throws Error for a type that is not float32 or float64.
void set_default_dtype(DType dtype);
DType default_dtype();

// The DType of a C++ type: dtype_of<float> == float32. Other types have none.
template <class T>
struct DTypeOf {
  static_assert(!std::is_same_v<T, T>,
                "a tensor's elements are float, double, std::int64_t, std::int32_t, std::uint8_t, BFloat16 or bool: "
                "convert the values first");
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
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
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
    case DType::int32:
      return function(std::int32_t{});
    case DType::uint8:
      return function(std::uint8_t{});
    case DType::bfloat16:
      return function(BFloat16{});
    case DType::boolean:
      return function(bool{});
    case DType::int64:
      break;
  }
  return function(std::int64_t{});
}

}  // namespace detail

}  // namespace asyncgrad
