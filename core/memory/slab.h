// A large block that is cut into small ones. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace asyncgrad::detail {

// The part of a large block that is not given out yet. Small blocks of a device with memory of its own come from slabs,
// and are never given back to the system. Not thread-safe.
class Slab {
 public:
  static constexpr std::int64_t size_bytes = std::int64_t{2} << 20;

  std::int64_t left_bytes() const { return left_bytes_; }
  // Returns the next `bytes` of the block, at most left_bytes().
  std::byte* cut(std::int64_t bytes) {
    left_bytes_ -= bytes;
    return std::exchange(begin_, begin_ + bytes);
  }
  // Starts again with another block, of `size_bytes`. Nothing is left of the old one.
  void start(std::byte* block) {
    begin_ = block;
    left_bytes_ = size_bytes;
  }

 private:
  std::byte* begin_ = nullptr;
  std::int64_t left_bytes_ = 0;
};

}  // namespace asyncgrad::detail
