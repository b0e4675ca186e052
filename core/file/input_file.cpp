#include "asyncgrad/core/file/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace asyncgrad::detail {

// O_NONBLOCK: a pipe without a writer is refused below instead of blocking.
InputFile::InputFile(const char* operation, const std::string& path)
    : name_{operation, path}, file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
  struct stat status {};
  if (!file_.is_open() || fstat(file_.number(), &status) != 0) name_.fail_to("read", errno);
  if (S_ISDIR(status.st_mode)) name_.fail_to("read", EISDIR);
  if (!S_ISREG(status.st_mode)) name_.fail("cannot be read: it is a pipe or another special file");
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, void* bytes, std::size_t count) const {
  constexpr std::size_t max_at_once = std::size_t{1} << 30;
  auto* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t done = pread(file_.number(), to, std::min(count, max_at_once), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) name_.fail_to("read", errno);
    if (done == 0) name_.fail(fmt::format("ends after {} bytes, {} too early; write or copy it again", offset, count));
    to += done;
    offset += static_cast<std::uint64_t>(done);
    count -= static_cast<std::size_t>(done);
  }
}

}  // namespace asyncgrad::detail
