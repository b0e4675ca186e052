// The message of the BadInput that a call throws.
#pragma once

#include <string>

#include "examples/support/parse.h"

namespace support {

template <class Call>
std::string bad_input(Call&& call) {
  try {
    call();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace support
