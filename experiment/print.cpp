#include "asyncgrad/experiment/print.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace asyncgrad::experiment {

namespace {

int first_error = 0;  // errno of the first write that failed

void keep_error() {
  if (first_error == 0 && std::ferror(stdout) != 0) first_error = errno;
}

// A network file system may report a full disk only when a file is closed.
bool closes_well(int file) {
  const int copy = dup(file);
  return copy >= 0 && close(copy) == 0;
}

}  // namespace

void write_output(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  keep_error();
  std::fflush(stdout);
  keep_error();
}

void write_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string output_failure() {
  std::cout.flush();
  keep_error();
  write_output("");
  if (first_error == 0 && !closes_well(STDOUT_FILENO)) first_error = errno;
  if (first_error != 0) return std::strerror(first_error);
  return std::cout ? "" : "a write failed";
}

}  // namespace asyncgrad::experiment
