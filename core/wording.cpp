#include "asyncgrad/core/wording.h"

#include <fmt/format.h>

#include <atomic>

namespace asyncgrad::detail {

namespace {

constinit std::atomic<ProgramLanguage> program_language{ProgramLanguage::cpp};

// The extents without the brackets around them: "6, 1".
std::string extents_str(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
  return text;
}

// (N, H, W, C) -> (N, C, H, W)
Shape channels_first(const Shape& x) {
  Shape shape{x[0], x[-1]};
  for (int axis = 1; axis + 1 < x.rank(); ++axis) shape.append(x[axis]);
  return shape;
}

}  // namespace

void set_program_language(ProgramLanguage language) noexcept {
  program_language.store(language, std::memory_order_relaxed);
}

std::string_view in_program(std::string_view cpp, std::string_view python) {
  return program_language.load(std::memory_order_relaxed) == ProgramLanguage::python ? python : cpp;
}

std::string_view no_grad_str() { return in_program("NoGrad", "no_grad()"); }
std::string_view enable_grad_str() { return in_program("EnableGrad", "enable_grad()"); }
std::string_view inference_str() { return in_program("Inference", "inference()"); }

std::string to_str(DType dtype) { return fmt::format(".to({}{})", in_program("ag::", "ag."), name(dtype)); }
std::string to_str(Device device) { return fmt::format(".to(\"{}\")", device.str()); }
std::string reshape_str(const Shape& shape) {
  return fmt::format(".reshape({}{}{})", in_program("{", ""), extents_str(shape), in_program("}", ""));
}

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string image_hint(const Shape& x, std::int64_t channels, int axes) {
  if (x.rank() == axes && axes >= 3 && x[-1] == channels) {
    const bool is_image = axes == 4;
    return fmt::format("; x looks like ({}): {} makes it {}", is_image ? "N, H, W, C" : "N, L, C",
                       is_image ? in_program("permute(x, {0, 3, 1, 2})", "x.transpose(0, 3, 1, 2)")
                                : in_program("x.transpose(1, 2)", "x.transpose(0, 2, 1)"),
                       channels_first(x).str());
  }
  if (x.rank() != axes - 1) return "";
  Shape one{1};
  for (const std::int64_t extent : x) one.append(extent);
  return fmt::format("; x{} is a batch of one sample", reshape_str(one));
}

}  // namespace asyncgrad::detail
