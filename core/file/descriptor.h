// A file descriptor that closes itself, and writing to one. Internal.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <utility>

namespace asyncgrad::detail {

// Owns the descriptor; -1 stands for none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  // Closes the descriptor. Returns false, and sets errno, if the system could not write what was still buffered.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

// Writes all `count` bytes, in as many system calls as that takes. Returns false, and sets errno, if the system
// refuses.
bool write_all(int file, const void* bytes, std::size_t count);

}  // namespace asyncgrad::detail
