// The message of the Error that a call throws.
#pragma once

#include <string>

#include "asyncgrad/core/error.h"

namespace asyncgrad::tests {

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace asyncgrad::tests
