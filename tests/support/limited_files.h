// A disk that is full, for tests.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace asyncgrad::tests {

// While it lives, no file may grow beyond `max_bytes`.
class LimitedFiles {
 public:
  explicit LimitedFiles(rlim_t max_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = max_bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  LimitedFiles(const LimitedFiles&) = delete;
  LimitedFiles& operator=(const LimitedFiles&) = delete;
  ~LimitedFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace asyncgrad::tests
