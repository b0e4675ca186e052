#include "asyncgrad/core/error.h"

#include <fmt/format.h>

#include "asyncgrad/core/engine/run/execution.h"
#include "asyncgrad/core/origin/origin.h"

namespace asyncgrad {

void throw_error(std::string_view operation, std::string_view what) {
  // A failed operation's message has its own, which this thread need not be in.
  const std::string scope = detail::InOperation::is_here() ? "" : detail::current_scope();
  throw Error(fmt::format("[{}] {}{}", operation, what, scope));
}

}  // namespace asyncgrad
