// A file descriptor that is closed, and writing to it.
#pragma once

#include <unistd.h>

#include <string_view>
#include <utility>

namespace support {

// Closes the file descriptor; -1: there is none.
class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  // Returns whether the system closed it without an error, which may be one of an earlier write.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// Writes all of it. Throws std::system_error.
void write_all(int file, std::string_view text);

}  // namespace support
