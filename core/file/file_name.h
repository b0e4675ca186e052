// The name of a file in messages. Internal.
#pragma once

#include <string>
#include <string_view>

namespace asyncgrad::detail {

struct FileName {
  // Throws Error for a path with a NUL, at which the system would stop reading.
  FileName(const char* operation, const std::string& path);

  const char* operation;  // in whose name errors are thrown
  std::string path;

  // Throws Error("[operation] 'path' what").
  [[noreturn]] void fail(std::string_view what) const;
  // Throws Error("[operation] cannot read 'path': No such file or directory"): `what` is "read", `error` an errno.
  [[noreturn]] void fail_to(std::string_view what, int error) const;
};

}  // namespace asyncgrad::detail
