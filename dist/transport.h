// How bytes go between the processes of a world. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace asyncgrad::dist {

// The part of a buffer that each rank owns: rank r has the bytes from [r] up to, but not including, [r + 1].
using Slices = std::vector<std::int64_t>;
inline std::int64_t own_bytes(const Slices& slices, int rank) {
  return slices[static_cast<std::size_t>(rank) + 1] - slices[static_cast<std::size_t>(rank)];
}

// One rank's connection to all others. Every rank makes the same calls in the same order. exchange(), all_to_all() and
// all_gather() begin a call and return; it is over when done() returns true, and until then its buffers stay. One call
// is under way at a time. Only one thread uses it, the one that made it, except for abort().
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Gives every rank the few bytes of each: `all` has those of rank r from r * mine.size() on.
  virtual void exchange(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Gives every rank its slice of each other rank's `values`: `received` has them by rank, one behind the other.
  virtual void all_to_all(const std::byte* values, std::byte* received, const Slices& slices) = 0;
  // Gives every rank the slice of `values` that each owns, at its place there.
  virtual void all_gather(std::byte* values, const Slices& slices) = 0;
  // Whether the call is over. Moves bytes along; returns at once.
  virtual bool done() = 0;
  // The ranks of which the call under way has had no answer, or, if it does not know them, all others.
  virtual std::vector<int> silent() = 0;

  // Whether the program has ended MPI itself, so that nothing can be called any more.
  virtual bool has_ended() { return false; }
  // Ends the connection, when all calls are over on all ranks.
  virtual void end() = 0;
  // Ends the processes of all ranks. May not return. Any thread may call it.
  virtual void abort() noexcept = 0;
};

}  // namespace asyncgrad::dist
