#include "asyncgrad/core/engine/run/nan_check.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "asyncgrad/core/detect_nan.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

DetectNan::DetectNan() : outer_(std::exchange(detail::NanChecks::are_on, true)) {}
DetectNan::~DetectNan() { detail::NanChecks::are_on = outer_; }

namespace detail {

namespace {

template <class T>
std::int64_t first_nan_of(const View& view) {
  const T* const values = reinterpret_cast<const T*>(view.data);
  const std::int64_t count = view.shape.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (value != value) return i;
  }
  return -1;
}

// The place of the first NaN, or -1.
std::int64_t first_nan(const View& view) {
  if (view.dtype == DType::float32) return first_nan_of<float>(view);
  if (view.dtype == DType::float64) return first_nan_of<double>(view);
  if (view.dtype == DType::bfloat16) return first_nan_of<BFloat16>(view);
  return -1;
}

std::string str(const View& view) { return fmt::format("{} {}", name(view.dtype), view.shape.str()); }

// Whether the operation overwrites operand i, so that its value from before is gone.
bool is_written(const Invocation& invocation, int i) {
  for (int other = 0; other < invocation.operand_count; ++other) {
    const bool writes = invocation.views[other].access != Access::read;
    if (writes && invocation.operands[other].storage == invocation.operands[i].storage) return true;
  }
  return false;
}

double value_at(const View& view, std::int64_t place) {
  if (view.dtype == DType::float32) return reinterpret_cast<const float*>(view.data)[place];
  if (view.dtype == DType::float64) return reinterpret_cast<const double*>(view.data)[place];
  return static_cast<double>(reinterpret_cast<const BFloat16*>(view.data)[place]);
}

// What the inputs of the result's shape and type have at the same place: ", from -0.5".
std::string inputs_at(const Invocation& invocation, const View& written, std::int64_t place) {
  std::string values;
  for (int i = 0; i < invocation.operand_count; ++i) {
    const View& view = invocation.views[i];
    if (view.access != Access::read || is_written(invocation, i)) continue;
    if (view.shape != written.shape || view.dtype != written.dtype) continue;
    values += fmt::format("{}{:g}", values.empty() ? ", from " : ", ", value_at(view, place));
  }
  return values;
}

[[noreturn]] void throw_nan(const Invocation& invocation, const View& written, std::int64_t place) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    const View& view = invocation.views[i];
    if (view.access != Access::read || is_written(invocation, i) || first_nan(view) < 0) continue;
    throw_error(op_name(invocation.op, invocation.attributes),
                fmt::format("passed NaN on: element {} of {} is NaN, and element {} of its input {} was before", place,
                            str(written), first_nan(view), str(view)));
  }
  throw_error(op_name(invocation.op, invocation.attributes),
              fmt::format("made NaN: element {} of {}{}", place, str(written), inputs_at(invocation, written, place)));
}

}  // namespace

void check_nan(const Invocation& invocation) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    const View& view = invocation.views[i];
    if (view.access == Access::read) continue;
    const std::int64_t place = first_nan(view);
    if (place >= 0) throw_nan(invocation, view, place);
  }
}

}  // namespace detail

}  // namespace asyncgrad
