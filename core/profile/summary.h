// A recording as a table of where the time went. Internal.
#pragma once

#include "asyncgrad/core/profile/timeline.h"
#include "asyncgrad/core/profiler.h"

namespace asyncgrad::detail::profile {

profiler::Summary summarize(const Recorded& recorded, const std::vector<OperationTimeline>& operations);

}  // namespace asyncgrad::detail::profile
