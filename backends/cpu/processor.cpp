#include "asyncgrad/backends/cpu/processor.h"

#include <fmt/format.h>

#include "asyncgrad/backends/cpu/highway_targets.h"
#include "asyncgrad/backends/cpu/products/onednn.h"
#include "asyncgrad/core/backend/instruction_sets.h"
#include "asyncgrad/core/error.h"
// After highway_targets.h:
#include <hwy/targets.h>

namespace asyncgrad::detail {

namespace {

std::string name_of(std::int64_t target) { return target == HWY_AVX3 ? "AVX-512" : hwy::TargetName(target); }
std::int64_t best_of(std::uint64_t sets) { return static_cast<std::int64_t>(sets & -sets); }

}  // namespace

std::string processor_refusal(std::int64_t compiled, std::int64_t supported) {
  if ((compiled & supported) != 0) return "";
  const std::int64_t lowest = std::int64_t{1} << (63 - __builtin_clzll(static_cast<std::uint64_t>(compiled)));
  return fmt::format(
      "asyncgrad was built for processors with {}, which this processor lacks; build it on this machine, or with the "
      "CMake option ASYNCGRAD_INSTRUCTION_SETS=all",
      name_of(lowest));
}

void check_processor() {
  const std::string refusal = processor_refusal(HWY_TARGETS, hwy::SupportedTargets());
  if (!refusal.empty()) throw_error("cpu", refusal);
}

std::uint64_t instruction_sets() { return static_cast<std::uint64_t>(HWY_TARGETS & hwy::SupportedTargets()); }
std::string name_of_instruction_sets(std::uint64_t sets) { return name_of(best_of(sets)); }

std::uint64_t instruction_sets_of_products() { return static_cast<std::uint64_t>(onednn_set()); }
std::string name_of_product_sets(std::uint64_t sets) {
  switch (static_cast<OnednnSet>(sets)) {
    case OnednnSet::avx512:
      return name_of(HWY_AVX3);
    case OnednnSet::avx2:
      return name_of(HWY_AVX2);
    case OnednnSet::avx:
      return "AVX";
    default:
      return "SSE4.1";
  }
}

// Kernels are chosen at their first use, all by one choice. oneDNN's are those of the same instruction set.
bool limit_instruction_sets(std::uint64_t sets) {
  const std::int64_t best = best_of(sets);
  if (best == best_of(instruction_sets())) return true;
  if (!limit_onednn(best <= HWY_AVX3 ? OnednnSet::avx512 : best <= HWY_AVX2 ? OnednnSet::avx2 : OnednnSet::sse41))
    return false;
  hwy::DisableTargets(best - 1);  // better ones have lower bits
  return true;
}

}  // namespace asyncgrad::detail
