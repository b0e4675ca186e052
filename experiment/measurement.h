// The measurement of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "asyncgrad/core/memory.h"

namespace asyncgrad::experiment {

// The value of an option of a program's own.
using OptionValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;
std::string text_of(const OptionValue& value);  // "64", "0.01", "2048,512"

struct Measurement {
  // --- How it was run.
  std::string name;  // of the kind of run
  std::string device = "cpu", math = "float32", barrier = "none", schedule = "oldest_first";
  std::optional<std::int64_t> in_flight{};            // K of the barrier in-flight:K
  std::optional<std::int64_t> memory_budget_bytes{};  // nothing: unbounded
  std::int64_t batches = 0;
  std::optional<std::int64_t> resumed_after{};                 // so many of the batches, if a checkpoint was resumed
  std::vector<std::pair<std::string, OptionValue>> options{};  // by name, as "batch_size"
  std::uint64_t seed = 0;
  std::int64_t workers = 0;

  // --- Its figures.
  std::int64_t operations = 0, inlined_operations = 0;      // all, and those of them that ran at the call
  double frontend_s = 0, frontend_wait_s = 0, total_s = 0;  // to queue all batches; to wait meanwhile; to finish
  std::int64_t setup_live_bytes = 0, serial_peak_bytes = 0, peak_live_bytes = 0;
  std::optional<std::int64_t> peak_rss_growth_bytes{};  // nothing: other runs shared its process
  std::int64_t peak_queued_operations = 0, budget_excess_bytes = 0;
  // Of runs that compute values again: see EngineFigures.
  std::optional<std::int64_t> recomputed_operations{};
  std::optional<double> added_work{};
  std::vector<LiveBytesTimeline::Sample> live_bytes_timeline{};
  double first_loss = 0, last_loss = 0;
  std::string parameters_hash{};
  std::optional<std::int64_t> repetition{};  // from 1 on, where the runs were repeated
};

// Calls visit(name, member) for every member but `options`, which comes as visit_options(options), in the order in
// which results are written.
template <class OneMeasurement, class Visit, class VisitOptions>
void visit_members(OneMeasurement& m, const Visit& visit, const VisitOptions& visit_options) {
  visit("name", m.name);
  visit("device", m.device);
  visit("math", m.math);
  visit("barrier", m.barrier);
  visit("in_flight", m.in_flight);
  visit("schedule", m.schedule);
  visit("memory_budget_bytes", m.memory_budget_bytes);
  visit("batches", m.batches);
  visit("resumed_after", m.resumed_after);
  visit_options(m.options);
  visit("seed", m.seed);
  visit("workers", m.workers);
  visit("operations", m.operations);
  visit("inlined_operations", m.inlined_operations);
  visit("frontend_s", m.frontend_s);
  visit("frontend_wait_s", m.frontend_wait_s);
  visit("total_s", m.total_s);
  visit("setup_live_bytes", m.setup_live_bytes);
  visit("serial_peak_bytes", m.serial_peak_bytes);
  visit("peak_live_bytes", m.peak_live_bytes);
  visit("peak_rss_growth_bytes", m.peak_rss_growth_bytes);
  visit("peak_queued_operations", m.peak_queued_operations);
  visit("budget_excess_bytes", m.budget_excess_bytes);
  visit("recomputed_operations", m.recomputed_operations);
  visit("added_work", m.added_work);
  visit("live_bytes_timeline", m.live_bytes_timeline);
  visit("first_loss", m.first_loss);
  visit("last_loss", m.last_loss);
  visit("parameters_hash", m.parameters_hash);
  visit("repetition", m.repetition);
}

}  // namespace asyncgrad::experiment
