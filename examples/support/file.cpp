#include "examples/support/file.h"

#include <cerrno>
#include <system_error>

namespace support {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "write");
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace support
