#include "asyncgrad/core/error.h"

#include <fmt/format.h>

namespace asyncgrad {

void throw_error(std::string_view operation, std::string_view what) {
  throw Error(fmt::format("[{}] {}", operation, what));
}

}  // namespace asyncgrad
