#include "asyncgrad/autograd/tape/operands.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

namespace {

std::string devices_str(std::span<const NamedOperand> operands) {
  std::string text;
  for (const NamedOperand& operand : operands) {
    text += fmt::format("{}{} {} on {}", text.empty() ? "" : ", ", operand.name, operand.impl.shape.str(),
                        operand.impl.device.str());
  }
  return text;
}

// The first operand that is a parameter, to which the others are to be fitted; null if there is none.
const NamedOperand* parameter_among(std::span<const NamedOperand> operands) {
  for (const NamedOperand& operand : operands) {
    if (operand.impl.node != nullptr && operand.impl.node->is_leaf()) return &operand;
  }
  return nullptr;
}

// The type that all operands are to have: a parameter's, the default one, or the first one that is floating.
DType common_type(std::span<const NamedOperand> operands) {
  if (const NamedOperand* const parameter = parameter_among(operands)) return parameter->impl.dtype;
  DType dtype = operands.front().impl.dtype;
  for (const NamedOperand& operand : operands) {
    if (operand.impl.dtype == default_dtype()) return default_dtype();
    if (is_floating(operand.impl.dtype) && !is_floating(dtype)) dtype = operand.impl.dtype;
  }
  return has_arithmetic(dtype) ? dtype : default_dtype();
}

[[noreturn]] void throw_type(const char* operation, std::string_view what, const NamedOperand& operand, DType wanted) {
  throw_error(operation,
              fmt::format("{} {}: {}; {}{} converts it", name(operand.impl.dtype), what, types_str({&operand, 1}),
                          operand.name, to_str(wanted)),
              ErrorKind::type);
}
void check_computes(const char* operation, const NamedOperand& operand, DType wanted) {
  if (!has_arithmetic(operand.impl.dtype)) throw_type(operation, "is for storage", operand, wanted);
}

}  // namespace

void throw_stale_view(const TensorImpl& impl, const char* operation) {
  const std::string taken =
      impl.node == nullptr ? "" : fmt::format(" by {} at {}", impl.node->operation(), impl.node->origin().str());
  throw_error(operation,
              fmt::format("{} shares its storage with a tensor that was written in place after it was taken from it{}, "
                          "so its history is out of date; take it again",
                          impl.shape.str(), taken));
}

std::string shapes_str(std::span<const NamedOperand> operands) {
  std::string text;
  for (const NamedOperand& operand : operands) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", operand.name, operand.impl.shape.str());
  }
  return text;
}

void check_devices(const char* operation, std::span<const NamedOperand> operands) {
  for (const NamedOperand& operand : operands) {
    if (operand.impl.device == operands.front().impl.device) continue;
    const NamedOperand* const parameter = parameter_among(operands);
    const Device wanted = (parameter == nullptr ? operands.front() : *parameter).impl.device;
    const NamedOperand& other = operand.impl.device == wanted ? operands.front() : operand;
    throw_error(operation, fmt::format("devices differ: {}; {}{} copies {}", devices_str(operands), other.name,
                                       to_str(wanted), other.name));
  }
}

void check_types(const char* operation, std::span<const NamedOperand> operands) {
  for (const NamedOperand& operand : operands) {
    if (operand.impl.dtype == operands.front().impl.dtype) continue;
    const DType wanted = common_type(operands);
    const NamedOperand& other = operand.impl.dtype == wanted ? operands.front() : operand;
    throw_types_differ(operation, operands, other.name, wanted);
  }
}

void check_dtype(Op op, const char* operation, NamedOperand operand) {
  const DTypeSet& dtypes = row_of(op).dtypes;
  if (dtypes.has(operand.impl.dtype)) return;
  if (dtypes.has(DType::int64)) check_arithmetic(operation, operand);
  check_floating(operation, operand);
}

void check_floating(const char* operation, NamedOperand operand) {
  check_computes(operation, operand, float32);
  if (!is_floating(operand.impl.dtype)) throw_type(operation, "is not supported", operand, default_dtype());
}

void check_arithmetic(const char* operation, NamedOperand operand) {
  check_computes(operation, operand, is_floating(operand.impl.dtype) ? float32 : int64);
}

void check_indices(const char* operation, NamedOperand operand) {
  if (operand.impl.dtype == DType::int64 && operand.impl.shape.rank() == 1) return;
  const bool is_integer = operand.impl.dtype == DType::int64;
  const std::string hint = is_integer ? reshape_str({operand.impl.shape.numel()}) + " has one axis"
                                      : to_str(DType::int64) + " converts them";
  throw_error(
      operation,
      fmt::format("{} must be int64 of one axis: {}; {}{}", operand.name, types_str({&operand, 1}), operand.name, hint),
      is_integer ? ErrorKind::value : ErrorKind::type);
}

void check_choice(const char* operation, NamedOperand x, int axis, NamedOperand indices) {
  if (x.impl.shape[axis] > 0 || indices.impl.shape.numel() == 0) return;
  const NamedOperand operands[] = {x, indices};
  throw_error(operation, fmt::format("axis {} of {} has no element that {} could choose: {}", axis, x.name,
                                     indices.name, shapes_str(operands)));
}

}  // namespace asyncgrad::detail
