// The message of the BadInput that a call throws.
#pragma once

#include <string>

#include "asyncgrad/experiment/parse.h"
#include "tests/support/message_of.h"

namespace asyncgrad::experiment {

template <class Call>
std::string bad_input(Call&& call) {
  return asyncgrad::tests::what_of<BadInput>(call);
}

}  // namespace asyncgrad::experiment
