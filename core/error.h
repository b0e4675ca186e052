// The one type of exception that the library throws.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace asyncgrad {

enum class ErrorKind {
  value,         // a call refused a value or a shape, or could not do its work
  type,          // a call refused an element type
  index,         // a call refused an index or an axis, because there is none such
  memory,        // there was not enough memory
  asynchronous,  // an operation failed after its call had returned; a wait has thrown this
};

// Its text names the operation, what is wrong, the values, and where that was:
// "[matmul] inner dimensions differ: x (1024, 512), w (2048, 500), at train.cpp:12, in layer 0.body.1".
class Error : public std::runtime_error {
 public:
  // The parts of the text. A part that is not known is empty or 0.
  struct Parts {
    std::string operation;  // "matmul"
    std::string message;    // "inner dimensions differ: x (1024, 512), w (2048, 500)"
    std::string file;       // of the program's call, as the compiler was given it
    int line = 0;
    std::string layer;                   // its path, "0.body.1"
    ErrorKind cause = ErrorKind::value;  // of an asynchronous error: with what the operation failed; else as kind()
  };

  explicit Error(const std::string& text, ErrorKind kind = ErrorKind::value,
                 std::shared_ptr<const Parts> parts = nullptr)
      : std::runtime_error(text), kind_(kind), parts_(std::move(parts)) {}

  ErrorKind kind() const { return kind_; }
  const Parts& parts() const;

 private:
  ErrorKind kind_;
  std::shared_ptr<const Parts> parts_;  // shared, as copying an exception must not fail
};

// Throws Error("[operation] what"). The line of the call that the calling thread is in, its layer and its launch graph
// are appended, as far as there are any.
[[noreturn]] void throw_error(std::string_view operation, std::string_view what, ErrorKind kind = ErrorKind::value);

}  // namespace asyncgrad
