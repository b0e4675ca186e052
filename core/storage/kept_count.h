// Counts that a thread keeps to itself for a while, as others need not see each change of them. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// What a thread keeps of a total at most before it tells.
inline constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 12;
constexpr bool is_much_to_keep(std::int64_t bytes) { return bytes > most_kept_bytes || bytes < -most_kept_bytes; }

// From here on the calling thread keeps the count of `total`, after it has told what it kept of another one; it tells
// when it ends. False at its end, when nobody would tell any more.
//
// A Total has what the calling thread keeps, `kept`, with the Total that it is `of`, or null, and with `is_over`; and
// tell_kept(), which tells that Total.
template <class Total>
bool keep_count_of(Total& total) {
  struct Last {
    ~Last() {
      Total::tell_kept();
      Total::kept.of = nullptr;
      Total::kept.is_over = true;
    }
  };
  thread_local Last last;
  static_cast<void>(last);
  if (Total::kept.is_over) return false;
  Total::tell_kept();
  Total::kept.of = &total;
  return true;
}

}  // namespace asyncgrad::detail
