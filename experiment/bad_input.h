// A mistake of the user of a program.
#pragma once

#include <stdexcept>

namespace asyncgrad::experiment {

// The user's input cannot be used. The message names the input and says what is accepted. main() prints it and returns
// 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace asyncgrad::experiment
