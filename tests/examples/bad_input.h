// The message of the BadInput that a call throws.
#pragma once

#include <string>

#include "examples/support/parse.h"
#include "tests/support/message_of.h"

namespace support {

template <class Call>
std::string bad_input(Call&& call) {
  return asyncgrad::tests::what_of<BadInput>(call);
}

}  // namespace support
