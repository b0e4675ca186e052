#include "asyncgrad/core/error.h"

#include <fmt/format.h>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/origin/origin.h"

namespace asyncgrad {

void throw_error(std::string_view operation, std::string_view what, ErrorKind kind) {
  // An operation that fails names its own line, layer and graph; the thread that computes it may be in others.
  const std::string place = detail::InOperation::is_here() ? "" : detail::current_place();
  throw Error(fmt::format("[{}] {}{}", operation, what, place), kind);
}

}  // namespace asyncgrad
