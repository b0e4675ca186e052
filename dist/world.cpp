#include "asyncgrad/dist/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "asyncgrad/core/backend/exit_order.h"
#include "asyncgrad/core/backend/instruction_sets.h"
#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/shared_generator.h"
#include "asyncgrad/dist/communicator.h"
#include "asyncgrad/dist/launch.h"

namespace asyncgrad::dist {

namespace {

std::mutex making;
// The world that was made first; never destroyed, as static tensors may outlive main. Under the lock.
World* made = nullptr;
bool have_agreed = false;  // all its ranks, on their instruction sets; under the lock

// The engine has ended before: what it has begun is over, and what it has dropped is unfinished. Of a process that was
// forked, the world is its parent's.
void end_at_exit() {
  if (made != nullptr && made->size() > 1) made->communicator()->end();
}

// The process that was started: a child of it by fork has the same environment, and is no rank.
const pid_t started = getpid();

// One line for each instruction set, with its ranks.
std::string list_of(const std::vector<std::uint64_t>& sets, std::string (*name)(std::uint64_t sets)) {
  std::map<std::string, std::vector<std::size_t>> ranks;
  for (std::size_t rank = 0; rank < sets.size(); ++rank) ranks[name(sets[rank])].push_back(rank);
  std::string list;
  for (const auto& [set, having] : ranks) {
    list += fmt::format("{}{} on rank{} {}", list.empty() ? "" : ", ", set, having.size() == 1 ? "" : "s",
                        fmt::join(having, ", "));
  }
  return list;
}

bool are_equal(const std::vector<std::uint64_t>& values) {
  return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

// Throws on all ranks, or on none.
void agree_on_instruction_sets(Communicator& communicator, bool lowest_common) {
  const char* const question = lowest_common ? "world with lowest_common" : "world without lowest_common";
  const std::vector<std::uint64_t> sets = communicator.gather(question, detail::instruction_sets());
  const std::string list = list_of(sets, detail::name_of_instruction_sets);
  std::uint64_t common = ~std::uint64_t{0};
  for (const std::uint64_t each : sets) common &= each;
  const auto is_best = [&](std::uint64_t each) { return (each & -each) == (common & -common); };
  const bool differ = common == 0 || !std::ranges::all_of(sets, is_best);
  if (differ && (common == 0 || !lowest_common)) {
    throw_error("world",
                fmt::format("the processors of the ranks have different instruction sets, whose results differ: "
                            "{}; {}",
                            list,
                            common == 0 ? "the library has no kernels for a common one: build it with the "
                                          "CMake option ASYNCGRAD_INSTRUCTION_SETS=all"
                                        : "WorldOptions::lowest_common lets all use the lowest"));
  }
  // Kernels are chosen at their first use.
  const bool is_limited = !differ || is_best(detail::instruction_sets()) ||
                          (engine_figures().operations == 0 && detail::limit_instruction_sets(common));
  const std::vector<std::uint64_t> limited = communicator.gather(question, is_limited ? 1 : 0);
  if (const auto late = std::ranges::find(limited, 0U); late != limited.end()) {
    throw_error("world",
                fmt::format("rank {} has computed already, and cannot change to the lowest instruction set ({}); "
                            "call world() before anything else",
                            late - limited.begin(), list));
  }
  const std::vector<std::uint64_t> products = communicator.gather(question, detail::instruction_sets_of_products());
  if (!are_equal(products)) {
    throw_error("world",
                fmt::format("oneDNN computes matrix products with different instruction sets: {}; the variable "
                            "ONEDNN_MAX_CPU_ISA limits them, see docs/dist.md",
                            list_of(products, detail::name_of_product_sets)));
  }
}

World connected(const WorldOptions& options) {
  const Launch launch = launch_of_process();
  if (launch.library.empty() || launch.size == 1) return {};
  return World(std::make_shared<Communicator>([launch] { return connect(launch); }, options.timeout_s));
}

}  // namespace

World::World(std::shared_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)), rank_(communicator_->rank()), size_(communicator_->size()) {}

Figures World::figures() const { return communicator_ == nullptr ? Figures() : communicator_->figures(); }

World world(WorldOptions options, Location where) {
  const CallSite site(where);
  if (!(options.timeout_s > 0) || !std::isfinite(options.timeout_s)) {
    throw_error("world", fmt::format("timeout_s must be a positive number of seconds, got {}", options.timeout_s));
  }
  if (!(options.bytes_per_second >= 0)) {
    throw_error("world", fmt::format("bytes_per_second must be at least 0, got {}", options.bytes_per_second));
  }
  // Before the lock, which may be held for ever.
  if (getpid() != started && !launch_of_process().library.empty()) refuse_child("world");
  const std::lock_guard lock(making);
  if (made == nullptr) {
    made = new World(connected(options));
    if (made->size() > 1) {
      // After MPI has registered its own handlers, so that this one comes first; and after it the engine's again, so that
      // the engine has ended when this one runs, whichever thread calls exit().
      if (std::atexit(end_at_exit) != 0) throw std::bad_alloc();
      detail::end_work_before_statics();
    }
  }
  if (made->communicator() != nullptr) {
    made->communicator()->check("world");
    made->communicator()->set_timeout(options.timeout_s);
    made->communicator()->set_link(options.bytes_per_second);
    if (made->size() > 1 && !have_agreed) {
      agree_on_instruction_sets(*made->communicator(), options.lowest_common);
      detail::set_rank_of_default_generator(made->rank());
      have_agreed = true;
    }
  }
  return *made;
}

}  // namespace asyncgrad::dist
