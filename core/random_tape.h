// Random numbers that are drawn a second time. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asyncgrad::detail {

// The ranges of numbers that this thread has taken from generators, in order.
class RandomTape {
 public:
  struct Taken {
    std::uint64_t key, first_block, words;
  };

  // While it lives, the tapes of all such scopes note the ranges that the thread takes.
  class Recording {
   public:
    [[nodiscard]] explicit Recording(RandomTape& tape);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

   private:
    friend class RandomTape;
    RandomTape& tape_;
    Recording* outer_;
  };

  // While it lives, the thread gets the ranges on the tape again, and no generator advances.
  class Replay {
   public:
    [[nodiscard]] explicit Replay(const RandomTape& tape);
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    ~Replay();

    // Throws Error if something on the tape was not asked for.
    void check_end() const;

   private:
    friend class RandomTape;
    const RandomTape& tape_;
    std::size_t next_ = 0;
    Replay* outer_;
    Recording* outer_recording_;
  };

  static bool is_in_use() { return recording_ != nullptr || is_replayed(); }
  static bool is_replayed() { return replay_ != nullptr; }
  // Takes a range of a generator, whose key and next block are given, and notes it.
  static Taken take(std::uint64_t key, std::uint64_t& next_block, std::uint64_t words);
  // The next range of the tape that is replayed. Throws Error if there is none, or one of another length.
  static Taken take_again(std::uint64_t words);

 private:
  static Taken noted(const Taken& taken);

  std::vector<Taken> taken_;

  // NOLINTBEGIN(readability-identifier-naming): members
  static inline constinit thread_local Recording* recording_ = nullptr;
  static inline constinit thread_local Replay* replay_ = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace asyncgrad::detail
