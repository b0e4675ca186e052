// The one type of exception that the library throws.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace asyncgrad {

// What went wrong, where, and the values: "[matmul] inner dimensions differ: x (1024, 512), w (2048, 500)".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error("[operation] what"), followed by the layer and the launch graph that the calling thread is in, if any.
[[noreturn]] void throw_error(std::string_view operation, std::string_view what);

}  // namespace asyncgrad
