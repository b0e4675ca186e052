#include "asyncgrad/autograd/tape/operands.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

std::string types_str(std::span<const NamedOperand> operands) {
  std::string text;
  for (const NamedOperand& operand : operands) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", operand.name, name(operand.impl.dtype),
                        operand.impl.shape.str());
  }
  return text;
}

std::string devices_str(std::span<const NamedOperand> operands) {
  std::string text;
  for (const NamedOperand& operand : operands) {
    text += fmt::format("{}{} {} on {}", text.empty() ? "" : ", ", operand.name, operand.impl.shape.str(),
                        operand.impl.device.str());
  }
  return text;
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
    throw_error(operation, fmt::format("devices differ: {}", devices_str(operands)));
  }
}

void check_types(const char* operation, std::span<const NamedOperand> operands) {
  for (const NamedOperand& operand : operands) {
    if (operand.impl.dtype == operands.front().impl.dtype) continue;
    throw_error(operation, fmt::format("types differ: {}", types_str(operands)), ErrorKind::type);
  }
}

void check_dtype(Op op, const char* operation, NamedOperand operand) {
  if (!row_of(op).dtypes.has(operand.impl.dtype)) check_floating(operation, operand);
}

void check_floating(const char* operation, NamedOperand operand) {
  check_arithmetic(operation, operand);
  if (is_floating(operand.impl.dtype)) return;
  throw_error(operation, fmt::format("int64 is not supported: {}", types_str({&operand, 1})), ErrorKind::type);
}

void check_arithmetic(const char* operation, NamedOperand operand) {
  const DType dtype = operand.impl.dtype;
  if (has_arithmetic(dtype)) return;
  throw_error(operation,
              fmt::format("{} is for storage, convert it with to({}) first: {}", name(dtype),
                          is_floating(dtype) ? "float32" : "int64", types_str({&operand, 1})),
              ErrorKind::type);
}

void check_indices(const char* operation, NamedOperand operand) {
  if (operand.impl.dtype == DType::int64 && operand.impl.shape.rank() == 1) return;
  throw_error(operation, fmt::format("{} must be int64 of one axis: {}", operand.name, types_str({&operand, 1})),
              operand.impl.dtype == DType::int64 ? ErrorKind::value : ErrorKind::type);
}

}  // namespace asyncgrad::detail
