// A file that appears whole or not at all. Internal.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "asyncgrad/core/file/descriptor.h"
#include "asyncgrad/core/file/file_name.h"

namespace asyncgrad::detail {

// Writes a temporary file, ".asyncgrad-…" in the folder of `path`, which commit() puts in the place of `path`. Until
// then, and if anything fails before that, what was there stays as it was; only a process that is killed leaves the
// temporary file behind. Symbolic links are followed, and the new file gets the permissions of the one that it replaces.
// A device or a pipe has no content to lose and is written directly. Errors are thrown in the name of `operation`.
class WholeFile {
 public:
  // Throws Error if the file cannot be made, or if `path` is there and may not be written.
  WholeFile(const char* operation, const std::string& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();  // removes the temporary file if it has not been committed

  const FileName& name() const { return name_; }
  // Appends. Throws Error if the system refuses, as on a full disk.
  void write(const void* bytes, std::size_t count);
  // Returns when the file is on the disk, in its place: finish(), put_in_place() and sync_folder().
  void commit();
  // Each throws Error if the system refuses.
  void finish();             // returns when the content is on the disk; nothing more can be written
  void put_in_place();       // does not wait for the disk
  void sync_folder() const;  // from here on the file also survives a loss of power under its name

 private:
  void create_temporary(mode_t mode);

  FileName name_;
  Descriptor file_;
  std::string target_;     // what `path` leads to
  std::string temporary_;  // empty: there is none
};

// Replaces the content of the file, or writes a new one, as WholeFile does.
void replace_file(const char* operation, const std::string& path, std::string_view content);

}  // namespace asyncgrad::detail
