// Children of a test's process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace asyncgrad::tests {

// Forks. The child calls `work` and ends, with the exit status 0 if that returns true; one that hangs ends after a
// minute. Returns the child's number.
inline pid_t fork_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);
  _exit(work() ? 0 : 1);
}

// What waitpid() says of the child when it has ended: 0 if all went well; -1 if there was no child.
inline int status_of(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace asyncgrad::tests
