#include "asyncgrad/backends/cpu/processor.h"

#include <fmt/format.h>

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/core/error.h"
// After highway_targets.h:
#include <hwy/targets.h>

namespace asyncgrad::detail {

std::string processor_refusal(std::int64_t compiled, std::int64_t supported) {
  if ((compiled & supported) != 0) return "";
  const std::int64_t lowest = std::int64_t{1} << (63 - __builtin_clzll(static_cast<std::uint64_t>(compiled)));
  return fmt::format(
      "asyncgrad was built for processors with {}, which this processor lacks; build it on this machine, or with the "
      "CMake option ASYNCGRAD_INSTRUCTION_SETS=all",
      lowest == HWY_AVX3 ? "AVX-512" : hwy::TargetName(lowest));
}

void check_processor() {
  const std::string refusal = processor_refusal(HWY_TARGETS, hwy::SupportedTargets());
  if (!refusal.empty()) throw_error("cpu", refusal);
}

}  // namespace asyncgrad::detail
