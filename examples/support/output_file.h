// Files that programs write: each is replaced as a whole or stays as it was.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace support {

// The message names the file and says why it cannot be written.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A new file that takes the place of `target`. Until commit() the target stays as it was. A character device, such as
// /dev/null, cannot be replaced and is written directly. Pipes, sockets and folders are refused.
class Replacement {
 public:
  // Creates the new file beside the target. Throws FileError if the target cannot be written or replaced.
  explicit Replacement(const std::string& target);
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement();  // removes the new file unless it has taken its place

  // Where to write the new content.
  const std::string& path() const { return path_; }
  // Puts the new file on the disk and in the target's place. Throws FileError; if only the last step failed, the
  // message says where the new file stays.
  void commit();

 private:
  std::string target_;    // as the user named it, for messages
  std::string resolved_;  // the file that `target_` leads to through symbolic links
  std::string path_;
  bool is_temporary_ = false;  // `path_` is a file of ours
};

// Replaces the file's content. Throws FileError, and then the file is as it was.
void replace_file(const std::string& target, std::string_view content);

// A new empty file in the system's folder for temporary files; the destructor removes it.
class TemporaryFile {
 public:
  TemporaryFile();  // throws FileError
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace support
