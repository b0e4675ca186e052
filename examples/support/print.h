// Printing, as the experiment does it: text that is lost is an error at the program's end.
#pragma once

#include "asyncgrad/experiment/print.h"

namespace support {

using asyncgrad::experiment::print;
using asyncgrad::experiment::print_error;

}  // namespace support
