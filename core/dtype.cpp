#include "asyncgrad/core/dtype.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

constinit DType current_dtype = float32;

}  // namespace

void set_default_dtype(DType dtype) {
  if (dtype != float32 && dtype != float64) {
    throw_error("set_default_dtype", fmt::format("the default is float32 or float64, not {}", name(dtype)),
                ErrorKind::type);
  }
  current_dtype = dtype;
}

DType default_dtype() { return current_dtype; }

}  // namespace asyncgrad
