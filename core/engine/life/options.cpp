#include "asyncgrad/core/engine/life/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

constexpr int most_cpu_parts = 8, most_source_threads = 64, most_workers = 4096, most_queued = 1 << 20;

constexpr std::array<std::pair<std::string_view, Schedule>, 4> schedules = {{{"oldest_first", Schedule::oldest_first},
                                                                             {"first_ready", Schedule::first_ready},
                                                                             {"immediate", Schedule::immediate},
                                                                             {"dry_run", Schedule::dry_run}}};

// Empty if the variable is not set. Read once, before the first thread.
std::string_view variable(const char* value) { return value == nullptr ? std::string_view() : value; }

// `what`: the value in words.
void check_range(std::int64_t value, std::int64_t most, const std::string& what) {
  if (value < 1 || value > most) throw_error("engine", fmt::format("{}: 1 to {} are possible", what, most));
}

int workers_of(std::string_view text) {
  int workers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), workers);
  if (error != std::errc() || end != text.data() + text.size() || workers < 1 || workers > most_workers) {
    throw_error("engine",
                fmt::format("ASYNCGRAD_WORKERS is '{}': a number of threads, 1 to {}, is wanted", text, most_workers));
  }
  return workers;
}

Schedule schedule_of(std::string_view text) {
  const auto* const found =
      std::find_if(schedules.begin(), schedules.end(), [text](const auto& row) { return row.first == text; });
  if (found == schedules.end()) {
    throw_error(
        "engine",
        fmt::format("ASYNCGRAD_SCHEDULE is '{}': oldest_first, first_ready, immediate or dry_run is wanted", text));
  }
  return found->second;
}

}  // namespace

int core_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

EngineOptions options_from_environment() {
  EngineOptions options;
  const std::string_view workers = variable(std::getenv("ASYNCGRAD_WORKERS"));    // NOLINT(concurrency-mt-unsafe)
  const std::string_view schedule = variable(std::getenv("ASYNCGRAD_SCHEDULE"));  // NOLINT(concurrency-mt-unsafe)
  if (!workers.empty()) options.workers = workers_of(workers);
  if (!schedule.empty()) options.schedule = schedule_of(schedule);
  return checked(options);
}

EngineOptions checked(const EngineOptions& options) {
  if (options.workers != 0) check_range(options.workers, most_workers, fmt::format("{} workers", options.workers));
  check_range(options.queue_capacity, most_queued, fmt::format("a queue of {} operations", options.queue_capacity));
  check_range(options.cpu_parts, most_cpu_parts, fmt::format("{} parts of the CPU", options.cpu_parts));
  check_range(options.source_threads, most_source_threads,
              fmt::format("{} threads for sources", options.source_threads));
  const MemoryBudget budget = options.memory_budget;
  if (!budget.is_automatic() && !budget.is_unbounded() && budget.bytes() < 0) {
    throw_error("engine", fmt::format("a memory budget of {} bytes", budget.bytes()));
  }
  if (options.max_cached_bytes < 0) {
    throw_error("engine", fmt::format("a bound of {} bytes for cached memory", options.max_cached_bytes));
  }
  if (options.copy_bytes_per_second < 0) {
    throw_error("engine", fmt::format("copies of {} bytes a second", options.copy_bytes_per_second));
  }
  EngineOptions complete = options;
  if (complete.workers == 0) complete.workers = core_count();
  return complete;
}

}  // namespace asyncgrad::detail
