// The hash FNV-1a of 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace asyncgrad::detail {

class Fnv1a {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) add_byte(std::to_integer<std::uint64_t>(byte));
  }
  // Its eight bytes, the lowest one first.
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(number >> (8 * i) & 0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace asyncgrad::detail
