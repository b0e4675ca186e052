#include "asyncgrad/core/file/file_name.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

FileName::FileName(const char* operation, const std::string& path) : operation(operation), path(path) {
  if (const std::size_t end = path.find('\0'); end != std::string::npos) {
    throw_error(operation,
                fmt::format("a path has no NUL, as '{}' has before '{}'", path.substr(0, end), path.substr(end + 1)));
  }
}

void FileName::fail(std::string_view what) const { throw_error(operation, fmt::format("'{}' {}", path, what)); }

void FileName::fail_to(std::string_view what, int error) const {
  std::string hint;
  std::error_code ignored;
  if (error == ENOENT && !path.empty() && !path.starts_with('/')) {
    hint = fmt::format(", in the folder '{}'", std::filesystem::current_path(ignored).string());
  }
  throw_error(operation, fmt::format("cannot {} '{}': {}{}", what, path, std::generic_category().message(error), hint));
}

}  // namespace asyncgrad::detail
