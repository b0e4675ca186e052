// The messages of exceptions that calls throw.
#pragma once

#include <algorithm>
#include <string>

#include "asyncgrad/core/error.h"

namespace asyncgrad::tests {

// "[add] shapes do not broadcast: x (2), y (3), at some_test.cpp:12, in layer 1" without the line of the call.
inline std::string without_line(std::string message) {
  constexpr const char* separator = ", at ";
  const std::size_t begin = message.rfind(separator);
  if (begin == std::string::npos) return message;
  const std::size_t end = std::min(message.find(", in ", begin), message.size());
  const std::string place = message.substr(begin + 5, end - begin - 5);
  if (place.find(' ') == std::string::npos && place.find(':') != std::string::npos) message.erase(begin, end - begin);
  return message;
}

// The message of the Exception that the call throws. Other exceptions pass through.
template <class Exception, class Call>
std::string what_of(Call&& call) {
  try {
    call();
  } catch (const Exception& exception) {
    return exception.what();
  }
  return "nothing was thrown";
}

// The message of the Error that the call throws.
template <class Call>
std::string whole_message_of(Call&& call) {
  return what_of<Error>(call);
}

// The same without the line of the call, which tests/core/call_site_test.cpp checks.
template <class Call>
std::string message_of(Call&& call) {
  return without_line(whole_message_of(call));
}

}  // namespace asyncgrad::tests
