#include "asyncgrad/core/math_mode.h"

#include <atomic>

namespace asyncgrad {

namespace {

std::atomic<MathMode> mode_of_products{MathMode::float32};

}  // namespace

void set_math_mode(MathMode mode) { mode_of_products.store(mode, std::memory_order_relaxed); }
MathMode math_mode() { return mode_of_products.load(std::memory_order_relaxed); }

}  // namespace asyncgrad
