#include "tests/core/file/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace asyncgrad::tests {

FileSystemCalls* file_system_calls = nullptr;

namespace {

bool is_refused(const char* name) {
  if (file_system_calls == nullptr) return false;
  file_system_calls->made.emplace_back(name);
  return file_system_calls->refused == name;
}

}  // namespace

}  // namespace asyncgrad::tests

extern "C" int fsync(int file) {
  struct stat status {};
  fstat(file, &status);
  if (asyncgrad::tests::is_refused(S_ISDIR(status.st_mode) ? "fsync folder" : "fsync")) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (asyncgrad::tests::is_refused("rename")) {
    errno = EXDEV;
    return -1;
  }
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
