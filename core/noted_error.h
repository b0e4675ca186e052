// The last Error of a thread. Internal.
#pragma once

#include <string>
#include <utility>

namespace asyncgrad::detail {

// While it lives, it has the text of the last Error that its thread has made: for what an exception leaves, which does not
// see the exception itself. Those of one thread end in the reverse order of their beginning.
class NotedError {
 public:
  NotedError() : outer_(std::exchange(innermost, this)) {}
  NotedError(const NotedError&) = delete;
  NotedError& operator=(const NotedError&) = delete;
  ~NotedError() { innermost = outer_; }

  const std::string& text() const { return text_; }  // empty: none
  static void note(const std::string& text) noexcept;

 private:
  static inline constinit thread_local NotedError* innermost = nullptr;

  NotedError* outer_;
  std::string text_;
};

}  // namespace asyncgrad::detail
