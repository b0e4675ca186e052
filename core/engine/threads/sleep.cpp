#include "asyncgrad/core/engine/threads/sleep.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <ctime>

namespace asyncgrad::detail {

namespace {

static_assert(std::endian::native == std::endian::little, "the lower half of the word is where the word is");

// Blocks while the lower half of `word` is 0, but at most for `timeout` if that is not null. It may also return for no
// reason. The kernel compares after a full barrier.
void block_while_0(const std::atomic<std::uint64_t>& word, const std::timespec* timeout = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, timeout, nullptr, 0);
}

void unblock(const std::atomic<std::uint64_t>& word, std::uint32_t threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

}  // namespace

// A thread that spins may answer the call for which a blocked thread was woken. The latter then finds no call and
// blocks again.
void Sleep::commit() {
  if (was_called()) return;
  change([](SleepState state) { return state.blocking(); });
  while (!was_called()) block_while_0(word_);
  change([](SleepState state) { return state.unblocked(); });
}

bool Sleep::commit_for(int milliseconds) {
  if (was_called()) return true;
  const std::timespec timeout{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000L};
  change([](SleepState state) { return state.blocking(); });
  bool is_called = was_called();
  if (!is_called) {
    block_while_0(word_, &timeout);
    is_called = was_called();
  }
  change([](SleepState state) { return state.unblocked(); });
  return is_called;
}

void Sleep::wake_some(std::uint32_t count) {
  const SleepState before = change([count](SleepState state) { return state.woken(count); });
  // If this sees no blocked thread, a thread that is about to block sees the calls before the kernel lets it sleep.
  if (before.blocked != 0 && before.calls_of(count) != 0) unblock(word_, before.calls_of(count));
}

}  // namespace asyncgrad::detail
