// Sections of a thread that no signal handler interrupts. Internal.
#pragma once

#include <csignal>

namespace asyncgrad::detail {

// While it lives, signals to the calling thread wait.
class BlockedSignals {
 public:
  BlockedSignals() : was_open_(!blocked_for_good_) {
    if (was_open_) block(&before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() {
    if (was_open_) restore(before_);
  }

  // The calling thread gets no signals as long as it lives, so that the class costs it no system call.
  static void block_for_good() {
    block(nullptr);
    blocked_for_good_ = true;
  }

 private:
  static void block(sigset_t* before);
  static void restore(const sigset_t& before);

  // NOLINTNEXTLINE(readability-identifier-naming): a member
  static inline constinit thread_local bool blocked_for_good_ = false;

  const bool was_open_;
  sigset_t before_;
};

}  // namespace asyncgrad::detail
