// The ways in which a training loop may be run, and their names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/math_mode.h"

namespace asyncgrad::experiment {

// How far the front end waits before it goes on with the next batch.
enum class Barrier {
  none,       // it does not wait
  batch,      // it waits for the loss of the batch, as in the book
  in_flight,  // it waits for the batch K before this one, with its update
};

// A run is called `immediate` or BARRIER[:BUDGET[:recompute]|:unbounded|:first_ready], where BARRIER is `batch`, `none` or
// `in-flight:K`, and BUDGET a number of bytes or a percentage of the serial peak. Without a suffix operations start oldest
// first under the default memory budget; with `recompute` values are computed again to keep within the budget.
struct RunKind {
  std::string name;
  Barrier barrier = Barrier::none;
  std::size_t in_flight = 0;  // K
  Schedule schedule = Schedule::oldest_first;
  MemoryBudget budget{};
  std::optional<double> budget_share{};  // of the serial peak; it stands for a budget of bytes
  bool recompute = false;
};

// The run called `name`. Throws BadInput, naming `option`, if there is none.
RunKind parse_run(std::string_view option, std::string_view name);

// The run described by --barrier, --schedule and --memory-budget, which default to `none`, `oldest_first` and
// `automatic`, and by --recompute. Throws BadInput for an unknown value, for first_ready with a budget, and for
// --recompute without one.
RunKind own_run(const std::optional<std::string>& barrier, const std::optional<std::string>& schedule,
                const std::optional<std::string>& budget, bool recompute);

std::string_view name_of(Barrier barrier);  // "batch", "none", "in-flight"

}  // namespace asyncgrad::experiment
