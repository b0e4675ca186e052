#include "asyncgrad/core/file/descriptor.h"

#include <algorithm>
#include <cerrno>

namespace asyncgrad::detail {

bool write_all(int file, const void* bytes, std::size_t count) {
  constexpr std::size_t max_at_once = std::size_t{1} << 30;
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t done = ::write(file, from, std::min(count, max_at_once));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    from += done;
    count -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace asyncgrad::detail
