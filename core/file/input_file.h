// A file that is read. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "asyncgrad/core/file/descriptor.h"
#include "asyncgrad/core/file/file_name.h"

namespace asyncgrad::detail {

// A regular file, open for reading. Errors are thrown in the name of `operation`.
class InputFile {
 public:
  // Throws Error if there is no such file, if it may not be read, or if it is no regular file.
  InputFile(const char* operation, const std::string& path);

  const FileName& name() const { return name_; }
  std::uint64_t size_bytes() const { return size_bytes_; }  // when it was opened
  // Reads `count` bytes from `offset` on. Throws Error if the system refuses, or if the file ends before.
  void read(std::uint64_t offset, void* bytes, std::size_t count) const;

 private:
  FileName name_;
  Descriptor file_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace asyncgrad::detail
