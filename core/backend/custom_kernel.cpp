#include "asyncgrad/core/backend/custom_kernel.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

const detail::CustomKernel& CustomCall::kernel() const { return detail::custom_kernel(call_); }

int CustomCall::input_view(int i) const {
  if (i < 0 || i >= kernel().inputs) {
    throw_error(kernel().name, fmt::format("input {} was asked for, of {} numbered from 0", i, kernel().inputs));
  }
  return kernel().places.empty() ? kernel().outputs + i : kernel().places[static_cast<std::size_t>(i)];
}

int CustomCall::output_view(int i) const {
  if (i < 0 || i >= kernel().outputs) {
    throw_error(kernel().name, fmt::format("output {} was asked for, of {} numbered from 0", i, kernel().outputs));
  }
  return i;
}

void* CustomCall::elements(const char* kind, int i, int view, DType dtype) const {
  if (call_.dtype(view) != dtype) {
    throw_error(kernel().name, fmt::format("{} {} is {} {}, and was asked for as {}; ask for it in its own type", kind,
                                           i, name(call_.dtype(view)), call_.shape(view).str(), name(dtype)));
  }
  return call_.bytes(view);
}

const void* CustomCall::input_elements(int i, DType dtype) const { return elements("input", i, input_view(i), dtype); }
void* CustomCall::output_elements(int i, DType dtype) const { return elements("output", i, output_view(i), dtype); }
void* CustomCall::in_place_elements(int i, DType dtype) const {
  const int view = input_view(i);
  if (kernel().places.empty() || !kernel().is_in_place[static_cast<std::size_t>(i)]) {
    throw_error(kernel().name, fmt::format("input {} is not among CustomOptions::in_place", i));
  }
  return elements("input", i, view, dtype);
}

const Shape& CustomCall::input_shape(int i) const { return call_.shape(input_view(i)); }
const Shape& CustomCall::output_shape(int i) const { return call_.shape(output_view(i)); }
DType CustomCall::input_dtype(int i) const { return call_.dtype(input_view(i)); }
DType CustomCall::output_dtype(int i) const { return call_.dtype(output_view(i)); }

int CustomCall::tiles() const { return stream_ != nullptr ? 1 : kernel().tiles; }  // a stream gets all at once

std::pair<std::int64_t, std::int64_t> CustomCall::part_of(std::int64_t count) const {
  // The first `longer` parts have one item more. This way no product of two large numbers overflows.
  const std::int64_t each = count / tiles(), longer = count % tiles(), tile = tile_;
  const std::int64_t first = tile * each + std::min(tile, longer);
  return {first, first + each + (tile < longer ? 1 : 0)};
}

std::span<std::byte> CustomCall::scratch() const {
  return {call_.scratch, call_.scratch == nullptr ? 0 : static_cast<std::size_t>(kernel().scratch_bytes)};
}

}  // namespace asyncgrad
