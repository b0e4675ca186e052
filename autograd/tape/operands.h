// Checks of operands, which operations make at the call, before anything is queued. Internal.
#pragma once

#include <span>

#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/scalar.h"

namespace asyncgrad::detail {

[[noreturn]] void throw_stale_view(const TensorImpl& impl, const char* operation);

// True for a slice or reshaped tensor whose storage was written in place after it was taken. If it has a history, this
// would give gradients of the old values; if it has none, it would miss the history of the new values. A leaf's history
// begins with it.
inline bool is_stale_view(const TensorImpl& impl) {
  if (!impl.is_view || impl.storage->version == impl.view_version) return false;
  return (impl.node != nullptr && !impl.node->is_leaf()) || impl.storage->history_version > impl.view_version;
}

// The object to which the tensor points. Throws Error for Tensor{}, and for a stale view outside of NoGrad.
inline const TensorImpl& checked_operand(const Tensor& tensor, const char* operation) {
  const TensorImpl& impl = checked_impl(tensor, operation);
  if (is_stale_view(impl) && grad_enabled()) throw_stale_view(impl, operation);
  return impl;
}

// "x (2, 3), y (4)".
std::string shapes_str(std::span<const NamedOperand> operands);

// Each throws Error, which shows all operands, if their devices differ, or their types.
void check_devices(const char* operation, std::span<const NamedOperand> operands);
void check_types(const char* operation, std::span<const NamedOperand> operands);
// Checks both.
inline void check_alike(const char* operation, std::initializer_list<NamedOperand> operands) {
  const TensorImpl& first = operands.begin()->impl;
  for (const NamedOperand& operand : operands) {
    if (operand.impl.device == first.device && operand.impl.dtype == first.dtype) continue;
    check_devices(operation, {operands.begin(), operands.size()});
    check_types(operation, {operands.begin(), operands.size()});
  }
}
inline void check_devices(const char* operation, std::initializer_list<NamedOperand> operands) {
  check_devices(operation, std::span(operands.begin(), operands.size()));
}
// Throws Error unless the row of `op` has the operand's type.
void check_dtype(Op op, const char* operation, NamedOperand operand);
// Throws Error unless the operand is float32 or float64.
void check_floating(const char* operation, NamedOperand operand);
// Throws Error unless operations compute in the operand's type.
void check_arithmetic(const char* operation, NamedOperand operand);
// Indices and labels of these types are converted to int64 before they are used.
constexpr bool is_narrow_index(DType dtype) { return dtype == DType::int32 || dtype == DType::uint8; }
inline Tensor wide_indices(const Arg& indices) { return indices->to(int64, indices.where()); }
// Throws Error unless the operand is int64 of one axis.
void check_indices(const char* operation, NamedOperand operand);
// Throws Error for indices into an axis of `x` that has no element: none of them is there, whatever their values are.
void check_choice(const char* operation, NamedOperand x, int axis, NamedOperand indices);

// A number in a tensor's type; floating types round integers. Throws Error if the type cannot hold it.
inline Number number_in(DType dtype, const Scalar& value, const char* operation) {
  if (!(value.is_integer() && is_floating(dtype))) value.check_fits(dtype, operation);
  return is_floating(dtype) ? Number{.floating = value.as_double()} : Number{.integer = value.as_int64()};
}

}  // namespace asyncgrad::detail
