#include "asyncgrad/experiment/run_kind.h"

#include <fmt/format.h>

#include "asyncgrad/experiment/parse.h"

namespace asyncgrad::experiment {

namespace {

constexpr std::string_view in_flight_prefix = "in-flight:";
constexpr int max_in_flight = 1'000'000'000;

constexpr std::string_view accepted_runs =
    "a run: immediate, or batch, none or in-flight:K, which one of :BYTES, :PERCENT%, :unbounded and :first_ready may "
    "follow, and :recompute after BYTES or PERCENT%";
constexpr std::string_view recompute_suffix = ":recompute";

bool starts_with_digit(std::string_view text) { return !text.empty() && text.front() >= '0' && text.front() <= '9'; }

// Reads BARRIER from the front of a name and leaves what follows it.
RunKind parse_barrier(std::string_view option, std::string_view whole, std::string_view& rest) {
  RunKind run{.name = std::string(whole)};
  const bool in_flight = whole.starts_with(in_flight_prefix);
  const std::size_t end = whole.find(':', in_flight ? in_flight_prefix.size() : 0);
  const std::string_view barrier = whole.substr(0, end);
  rest = end == std::string_view::npos ? "" : whole.substr(end);
  if (in_flight) {
    const std::string_view count = barrier.substr(in_flight_prefix.size());
    run.barrier = Barrier::in_flight;
    run.in_flight = static_cast<std::size_t>(parse_whole(fmt::format("{} {}", option, whole), count, 1, max_in_flight));
  } else if (barrier == "batch") {
    run.barrier = Barrier::batch;
  } else if (barrier != "none") {
    reject(option, whole, option == "--barrier" ? "batch, none or in-flight:K" : accepted_runs);
  }
  return run;
}

bool is_size(std::string_view text) { return starts_with_digit(text) || text.ends_with('%'); }

void set_size(RunKind& run, std::string_view option, std::string_view text) {
  if (text.ends_with('%')) {
    run.budget_share = parse_percent(option, text);
  } else {
    run.budget = MemoryBudget::bytes(parse_bytes(option, text));
  }
}

void set_budget(RunKind& run, std::string_view option, std::string_view text) {
  if (text == "automatic" || text == "auto") {
    run.budget = MemoryBudget::automatic();
  } else if (text == "unbounded") {
    run.budget = MemoryBudget::unbounded();
  } else if (is_size(text)) {
    set_size(run, option, text);
  } else {
    reject(option, text,
           "a number of bytes (1000000, 64MiB), a percentage of the serial peak (50%), automatic or unbounded");
  }
}

Schedule parse_schedule(std::string_view text) {
  // A dry run computes nothing that could be measured.
  if (const auto schedule = schedule_of(text); schedule && *schedule != Schedule::dry_run) return *schedule;
  reject("--schedule", text, "oldest_first, first_ready or immediate");
}

void set_first_ready(RunKind& run) {
  run.schedule = Schedule::first_ready;
  run.budget = MemoryBudget::unbounded();  // it never has another
}

}  // namespace

RunKind parse_run(std::string_view option, std::string_view name) {
  if (name == "immediate") return {.name = std::string(name), .schedule = Schedule::immediate};
  std::string_view rest;
  RunKind run = parse_barrier(option, name, rest);
  if (rest.empty()) return run;
  run.recompute = rest.ends_with(recompute_suffix);
  if (run.recompute) rest.remove_suffix(recompute_suffix.size());
  const std::string_view suffix = rest.empty() ? rest : rest.substr(1);
  if (suffix.find(':') != std::string_view::npos || (run.recompute && !is_size(suffix))) {
    reject(option, name, accepted_runs);
  } else if (suffix == "first_ready") {
    set_first_ready(run);
  } else if (suffix == "unbounded") {
    run.budget = MemoryBudget::unbounded();
  } else if (is_size(suffix)) {
    set_size(run, fmt::format("{} {}", option, name), suffix);
  } else {
    reject(option, name, accepted_runs);
  }
  return run;
}

RunKind own_run(const std::optional<std::string>& barrier, const std::optional<std::string>& schedule,
                const std::optional<std::string>& budget, bool recompute) {
  std::string_view rest;
  RunKind run = parse_barrier("--barrier", barrier.value_or("none"), rest);
  if (!rest.empty()) reject("--barrier", *barrier, "batch, none or in-flight:K");
  set_budget(run, "--memory-budget", budget.value_or("automatic"));
  run.schedule = parse_schedule(schedule.value_or("oldest_first"));
  run.recompute = recompute;
  const bool automatic = run.budget.is_automatic() && !run.budget_share;
  if (recompute && (automatic || run.budget.is_unbounded())) {
    throw BadInput(
        "--recompute computes values again to keep within a budget: give --memory-budget a number of bytes or a "
        "percentage of the serial peak, such as 50%");
  }
  if (run.schedule == Schedule::immediate) {
    run.name = "immediate";
  } else if (run.schedule == Schedule::first_ready) {
    if (!automatic && !run.budget.is_unbounded()) {
      throw BadInput(
          fmt::format("--memory-budget: first_ready runs without a budget, so '{}' cannot be kept; give "
                      "unbounded or another --schedule",
                      *budget));
    }
    set_first_ready(run);
    run.name += ":first_ready";
  } else if (!automatic) {
    run.name += fmt::format(":{}{}", *budget, recompute ? recompute_suffix : "");
  }
  return run;
}

std::string_view name_of(Barrier barrier) {
  switch (barrier) {
    case Barrier::batch:
      return "batch";
    case Barrier::in_flight:
      return "in-flight";
    case Barrier::none:
      break;
  }
  return "none";
}

}  // namespace asyncgrad::experiment
