#include "asyncgrad/core/math_mode.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace {

std::atomic<MathMode> mode_of_products{MathMode::float32};  // relaxed: a setting
constexpr std::array<std::string_view, 3> names = {"float32", "bf16", "tf32"};
constinit thread_local const MathMode* mode_of_thread = nullptr;  // that of the innermost MathModeScope

}  // namespace

std::string_view name_of(MathMode mode) { return names[static_cast<std::size_t>(mode)]; }

std::optional<MathMode> math_mode_of(std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<MathMode>(found - names.begin());
}

std::string math_mode_names() { return detail::alternatives(names); }

void set_math_mode(MathMode mode) { mode_of_products.store(mode, std::memory_order_relaxed); }
MathMode math_mode() {
  return mode_of_thread != nullptr ? *mode_of_thread : mode_of_products.load(std::memory_order_relaxed);
}

namespace detail {

MathModeScope::MathModeScope(MathMode mode) : mode_(mode), outer_(std::exchange(mode_of_thread, &mode_)) {}
MathModeScope::~MathModeScope() { mode_of_thread = outer_; }

}  // namespace detail

}  // namespace asyncgrad
