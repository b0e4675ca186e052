#include "asyncgrad/core/file/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace asyncgrad::detail {

namespace fs = std::filesystem;

namespace {

// Follows symbolic links, also to a file that is not there yet. stat() has refused circles before.
fs::path without_links(fs::path path) {
  std::error_code error;
  while (fs::is_symlink(path, error)) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;
  }
  return path;
}

std::string folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : std::string(".");
}

// Some file systems have no fsync, which is no error.
bool sync(int file) { return fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP; }

}  // namespace

WholeFile::WholeFile(const char* operation, const std::string& path) : name_{operation, path} {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (!exists && (errno != ENOENT || path.empty())) name_.fail_to("write", errno);
  if (exists) {
    // This checks that a regular file can be written. O_NONBLOCK: a pipe without a reader is refused instead of
    // blocking.
    file_ = Descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!file_.is_open()) name_.fail_to("write", errno);
    if (!S_ISREG(status.st_mode)) {
      if (fcntl(file_.number(), F_SETFL, 0) != 0) name_.fail_to("write", errno);
      return;
    }
  }
  target_ = without_links(path);
  create_temporary(exists ? status.st_mode & 0777 : 0666);
  if (exists) fchmod(file_.number(), status.st_mode & 07777);  // may be refused: then it has the usual permissions
}

WholeFile::~WholeFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

// Creates a file under a random name. O_EXCL: it does not follow a link that another process put there.
void WholeFile::create_temporary(mode_t mode) {
  do {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) < 0) name_.fail_to("write", errno);
    std::string path = fmt::format("{}/.asyncgrad-{:016x}", folder_of(target_), number);
    file_ = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file_.is_open()) temporary_ = std::move(path);
  } while (!file_.is_open() && errno == EEXIST);
  if (!file_.is_open()) name_.fail_to("write", errno);
}

void WholeFile::write(const void* bytes, std::size_t count) {
  if (!write_all(file_.number(), bytes, count)) name_.fail_to("write", errno);
}

void WholeFile::commit() {
  finish();
  put_in_place();
  sync_folder();
}

void WholeFile::finish() {
  if (!temporary_.empty() && !sync(file_.number())) name_.fail_to("write", errno);
  if (!file_.close()) name_.fail_to("write", errno);
}

void WholeFile::put_in_place() {
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) name_.fail_to("write", errno);
  temporary_.clear();
}

void WholeFile::sync_folder() const {
  if (target_.empty()) return;
  const Descriptor folder(open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() && errno == EACCES) return;  // a folder that may be written, but not read
  if (!folder.is_open() || !sync(folder.number())) name_.fail_to("put on the disk the folder of", errno);
}

void replace_file(const char* operation, const std::string& path, std::string_view content) {
  WholeFile file(operation, path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace asyncgrad::detail
