// A line of the user's program, for messages.
#pragma once

#include <string>

namespace asyncgrad {

// A line of source code. `Location::current()` as a default argument names the caller's line. It uses `__builtin_FILE`
// rather than std::source_location, which the analysers of LLVM 14 cannot read.
struct Location {
  const char* file = nullptr;  // a string literal, never freed; null if unknown
  int line = 0;

  static constexpr Location current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Location{file, line};
  }
  // "train.cpp:12", without the folder; "an unknown line" without a file.
  std::string str() const;
};

}  // namespace asyncgrad
