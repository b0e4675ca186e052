// Whether a benchmark's figures were printed.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace asyncgrad::benchmarks {

// Prints why on standard error if some of standard output was lost, on a full disk for example, and returns false.
inline bool check_standard_output() {
  errno = 0;
  std::cout.flush();
  std::fflush(stdout);
  const int copy = dup(STDOUT_FILENO);  // a network file system may report a full disk only when a file is closed
  if (copy >= 0 && close(copy) == 0 && std::cout && std::ferror(stdout) == 0) return true;
  std::fprintf(stderr, "standard output could not be written: %s\n", std::strerror(errno));
  return false;
}

}  // namespace asyncgrad::benchmarks
