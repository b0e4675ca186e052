// Giving warnings. Internal.
#pragma once

#include <string_view>

#include "asyncgrad/core/warnings.h"

namespace asyncgrad::detail {

struct Origin;

// Gives the warning, unless warnings are off or the line has had it. The line and the layer are those in which the
// calling thread is, or those of `origin`. What is queued for a gradient gets none. Throws what the handler throws. Any thread may call it.
void warn(std::string_view operation, std::string_view message);
void warn(std::string_view operation, std::string_view message, const Origin& origin);

}  // namespace asyncgrad::detail
