#include "asyncgrad/core/engine/life/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace {

constexpr std::array<std::string_view, 4> schedules = {"oldest_first", "first_ready", "immediate", "dry_run"};

}  // namespace

std::string_view name_of(Schedule schedule) { return schedules[static_cast<std::size_t>(schedule)]; }

std::optional<Schedule> schedule_of(std::string_view name) {
  const auto* const found = std::ranges::find(schedules, name);
  if (found == schedules.end()) return std::nullopt;
  return static_cast<Schedule>(found - schedules.begin());
}

std::string schedule_names() { return detail::alternatives(schedules); }

namespace detail {

namespace {

constexpr int max_cpu_parts = 8, max_source_threads = 64, max_queued = 1 << 20;

// Empty if the variable is not set. Read once, before the first thread.
std::string_view variable(const char* value) { return value == nullptr ? std::string_view() : value; }

void check_range(const char* name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    throw_error("engine", fmt::format("{} must be {} to {}, got {}", name, min, max, value));
  }
}

void check_not_negative(const char* name, std::int64_t value) {
  if (value < 0) throw_error("engine", fmt::format("{} must be at least 0, got {}", name, value));
}

void check_recomputation(const EngineOptions& options) {
  const MemoryBudget budget = options.memory_budget;
  if (budget.is_automatic() || budget.is_unbounded()) {
    throw_error("engine", fmt::format("recompute_to_fit needs a memory_budget of bytes, got an {} one",
                                      budget.is_automatic() ? "automatic" : "unbounded"));
  }
  if (options.schedule == Schedule::first_ready) {
    throw_error("engine", "recompute_to_fit keeps within a budget, which the schedule first_ready does not have");
  }
}

int workers_of(std::string_view text) {
  int workers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), workers);
  if (error != std::errc() || end != text.data() + text.size() || workers < 1 || workers > max_workers) {
    throw_error("engine",
                fmt::format("ASYNCGRAD_WORKERS must be a number of threads, 1 to {}, got '{}'", max_workers, text));
  }
  return workers;
}

Schedule schedule_from_environment(std::string_view text) {
  if (const auto schedule = schedule_of(text)) return *schedule;
  throw_error("engine", fmt::format("ASYNCGRAD_SCHEDULE must be {}, got '{}'", schedule_names(), text));
}

}  // namespace

int core_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

EngineOptions options_from_environment() {
  EngineOptions options;
  const std::string_view workers = variable(std::getenv("ASYNCGRAD_WORKERS"));    // NOLINT(concurrency-mt-unsafe)
  const std::string_view schedule = variable(std::getenv("ASYNCGRAD_SCHEDULE"));  // NOLINT(concurrency-mt-unsafe)
  if (!workers.empty()) options.workers = workers_of(workers);
  if (!schedule.empty()) options.schedule = schedule_from_environment(schedule);
  return checked(options);
}

EngineOptions checked(const EngineOptions& options) {
  check_range("workers", options.workers, 0, max_workers);  // 0: the number of cores
  check_range("queue_capacity", options.queue_capacity, 1, max_queued);
  check_range("cpu_parts", options.cpu_parts, 1, max_cpu_parts);
  check_range("source_threads", options.source_threads, 1, max_source_threads);
  const MemoryBudget budget = options.memory_budget;
  if (!budget.is_automatic() && !budget.is_unbounded()) check_not_negative("memory_budget", budget.bytes());
  check_not_negative("max_cached_bytes", options.max_cached_bytes);
  if (options.recompute_to_fit) check_recomputation(options);
  EngineOptions complete = options;
  if (complete.workers == 0) complete.workers = core_count();
  return complete;
}

}  // namespace detail

}  // namespace asyncgrad
