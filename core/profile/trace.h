// A recording as a file in Chrome's trace format. Internal.
#pragma once

#include <string>

#include "asyncgrad/core/profile/timeline.h"

namespace asyncgrad::detail::profile {

// The file's text, times in microseconds since the start. The format: "Trace Event Format",
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
std::string trace_text(const Recorded& recorded, const std::vector<OperationTimeline>& operations);

}  // namespace asyncgrad::detail::profile
