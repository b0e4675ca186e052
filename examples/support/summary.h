// What measured runs show, as text.
#pragma once

#include <string>

#include "examples/support/machine.h"

namespace support {

// A heading and a row a run, columns aligned; medians over repetitions. Every line ends with '\n'.
std::string table(const Json& runs);

// At most three sentences computed from the runs that are there, one a line; empty if there is none.
std::string sentences(const Json& runs);

}  // namespace support
