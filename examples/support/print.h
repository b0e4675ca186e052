// Printing, as the experiment does it: text that is lost is an error at the program's end.
#pragma once

#include "asyncgrad/experiment/print.h"

namespace support {

using asyncgrad::experiment::complain;
using asyncgrad::experiment::print;

}  // namespace support
