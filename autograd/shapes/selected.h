// What indices select of a tensor. Internal.
#pragma once

#include <span>

#include "asyncgrad/autograd/forms/strided.h"
#include "asyncgrad/core/index.h"

namespace asyncgrad::detail {

struct Selection {
  Region region;          // in the tensor's own axes
  Shape shape;            // of the result: without the axes of positions, with the new ones
  bool is_shared = true;  // positions, then at most one range with a step of 1, then whole axes
};

// Throws Error, naming `operation`, for indices that do not fit the shape.
Selection selection_of(const char* operation, const Shape& shape, std::span<const Index> indices);

}  // namespace asyncgrad::detail
