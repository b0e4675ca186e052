// A report in text of what the engine does at this moment. Internal.
#pragma once

#include <string>

#include "asyncgrad/core/engine/front_end/front_end.h"

namespace asyncgrad::detail {

// Waits for no lock longer than some milliseconds.
std::string engine_report(ProgramQueue& queue);

}  // namespace asyncgrad::detail
