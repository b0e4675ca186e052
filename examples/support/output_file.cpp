#include "examples/support/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include "examples/support/file.h"

namespace support {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& file, const std::string& why) {
  throw FileError(fmt::format("'{}' cannot be written: {}", file, why));
}
[[noreturn]] void fail(const std::string& file, int error) { fail(file, std::strerror(error)); }

// What the name leads to, links followed; nothing if there is no such file.
std::optional<struct stat> status_of(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) == 0) return status;
  if (errno != ENOENT || file.empty()) fail(file, errno);
  return std::nullopt;
}

// Follows symbolic links, also to a file that is not there yet. Ends because status_of() refuses a circle of links.
fs::path without_links(fs::path file) {
  std::error_code ignored;
  while (fs::is_symlink(file, ignored)) file = file.parent_path() / fs::read_symlink(file);
  return file;
}

// Opens what is there as a check: the system then also applies its rules for links in folders that all users share.
void check_writable_now(const std::string& file, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) fail(file, "it is a folder");
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
    fail(file, "it is a pipe or another special file; give a regular file");
  const File open_file(open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (open_file.number() < 0) fail(file, errno);
}

// A new file under a name that nobody can foresee. O_EXCL: a link that somebody put there is not followed.
std::string create_in(const fs::path& folder, mode_t mode, const std::string& target) {
  std::random_device random;
  for (;;) {
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    const std::string path = folder / fmt::format(".asyncgrad-{:016x}", number);
    const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.number() >= 0) return path;
    if (errno != EEXIST) fail(target, errno);  // else another number is tried, which is new but for a chance of 2^-64
  }
}

void write_content(const std::string& path, std::string_view content, const std::string& target) {
  File file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY));
  if (file.number() < 0) fail(target, errno);
  try {
    write_all(file.number(), content);
  } catch (const std::system_error& error) {
    fail(target, error.code().value());
  }
  if (!file.close()) fail(target, errno);
}

void put_on_disk(const std::string& path, const std::string& target) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) fail(target, errno);
  const bool is_synced = fsync(file.number()) == 0 || errno == EINVAL;  // EINVAL: this file system has no such thing
  if (!is_synced) fail(target, errno);
}

}  // namespace

Replacement::Replacement(const std::string& target) : target_(target), path_(target) {
  const std::optional<struct stat> status = status_of(target);
  if (status) check_writable_now(target, *status);
  if (status && S_ISCHR(status->st_mode)) return;
  const fs::path resolved = without_links(target);
  resolved_ = resolved;
  const fs::path folder = resolved.has_parent_path() ? resolved.parent_path() : fs::path(".");
  path_ = create_in(folder, 0666, target);
  is_temporary_ = true;
  if (status) chmod(path_.c_str(), status->st_mode & 07777);  // may be refused: then the new file has the usual rights
}

Replacement::~Replacement() {
  if (is_temporary_) unlink(path_.c_str());
}

void Replacement::commit() {
  if (!is_temporary_) return;
  put_on_disk(path_, target_);
  if (std::rename(path_.c_str(), resolved_.c_str()) != 0) {
    const int error = errno;
    is_temporary_ = false;  // the content is whole and is kept
    fail(target_, fmt::format("{}; the new content is in '{}'", std::strerror(error), path_));
  }
  is_temporary_ = false;
}

void replace_file(const std::string& target, std::string_view content) {
  Replacement file(target);
  write_content(file.path(), content, target);
  file.commit();
}

TemporaryFile::TemporaryFile() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) throw FileError(fmt::format("there is no folder for temporary files: {}", error.message()));
  path_ = create_in(folder, 0600, folder);
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace support
