#include "asyncgrad/core/file/file_name.h"

#include <fmt/format.h>

#include <system_error>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

void FileName::fail(std::string_view what) const { throw_error(operation, fmt::format("'{}' {}", path, what)); }

void FileName::fail_to(std::string_view what, int error) const {
  throw_error(operation, fmt::format("cannot {} '{}': {}", what, path, std::generic_category().message(error)));
}

}  // namespace asyncgrad::detail
