// Checks of the tensors and numbers that operations, layers and optimisers are given. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "asyncgrad/core/dtype.h"

namespace asyncgrad {

class Shape;

namespace detail {

struct TensorImpl;

// A tensor as messages name it.
struct NamedOperand {
  const char* name;
  const TensorImpl& impl;
};
// "x float32 (2, 3), y int64 (4)".
std::string types_str(std::span<const NamedOperand> operands);

// Throws Error for a tensor that holds nothing.
[[noreturn]] void throw_undefined(const char* operation);
// Throws Error for operands whose types differ: `other` is to be converted to `wanted`.
[[noreturn]] void throw_types_differ(const char* operation, std::span<const NamedOperand> operands, const char* other,
                                     DType wanted);

}  // namespace detail

// Throws Error, which names the operation and the option, unless the value is finite.
void check_finite(const char* operation, const char* what, double value);
// The same unless it is not negative, too.
void check_not_negative(const char* operation, const char* what, double value);
// The same unless it is less than 1, too.
void check_below_one(const char* operation, const char* what, double value);
// Throws Error unless the value is in [0, 1].
void check_in_unit_interval(const char* operation, const char* what, double value);
// Throws Error unless the value is above 0; infinity is.
void check_positive(const char* operation, const char* what, double value);

// Throws Error unless the value is at least 1.
void check_at_least_one(const char* operation, const char* what, std::int64_t value);

// The axis counted from the front. Throws Error, which names the operation, for an axis that the shape does not have.
int checked_axis(const char* operation, const Shape& shape, int axis);
// Throws that Error.
[[noreturn]] void throw_no_axis(const char* operation, const Shape& shape, int axis);
// Throws Error for an index, or another `noun`, that is none of `extent` rows, classes or the like.
[[noreturn]] void throw_outside(const char* operation, const char* noun, std::int64_t index, std::int64_t position,
                                std::int64_t extent, const char* what);

}  // namespace asyncgrad
