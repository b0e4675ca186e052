// The one type of exception that the library throws.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace asyncgrad {

// Its text names the operation, what is wrong, and the values:
// "[matmul] inner dimensions differ: x (1024, 512), w (2048, 500)".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error("[operation] what"), with the layer and the launch graph appended in which the calling thread is, if
// any.
[[noreturn]] void throw_error(std::string_view operation, std::string_view what);

}  // namespace asyncgrad
