#include "asyncgrad/experiment/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/fnv1a.h"
#include "asyncgrad/core/profiler.h"
#include "asyncgrad/experiment/print.h"

namespace asyncgrad::experiment {

namespace {

constexpr int batches_between_lines = 50;

// Waits for everything. Returns the oldest error that no call has thrown so far, if there is one.
std::exception_ptr failure_of_all() {
  try {
    wait_all();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void Recorder::start(int resumed_after) {
  wait_all();
  resumed_after_ = batches_done_ = resumed_after;
  if (!options_.is_silent) progress_ = std::make_unique<ProgressLine>(run_.name, run_.end());
  if (progress_) progress_->batch_done(batches_done_);
  reset_peaks(run_.device);
  setup_live_bytes_ = memory_figures(run_.device).live_bytes;
  if (!options_.shares_process) resident_ = std::make_unique<PeakResident>();
  before_ = engine_figures();
  timeline_ = std::make_unique<LiveBytesTimeline>(run_.device);
  if (is_profiled()) profiler::start();
  start_ = std::chrono::steady_clock::now();
}

void Recorder::batch_done(const Tensor& loss) {
  ++batches_done_;
  if (progress_) progress_->batch_done(batches_done_);
  if (!first_loss_.defined()) first_loss_ = loss;
  if (batches_done_ == run_.end()) last_loss_ = loss;
  if (progress_ && batches_done_ % batches_between_lines == 0 && run_.schedule != Schedule::dry_run) {
    progress_->print(fmt::format("batch {}, time {:.4f} sec", batches_done_, elapsed_s()));
  }
}

void Recorder::finish(const std::vector<Tensor>& parameters) {
  const double frontend_s = elapsed_s();
  const double wait_s = engine_figures().frontend_wait_s - before_.frontend_wait_s;
  // A checkpoint or a trace that cannot be written does not cost the figures of the run.
  std::exception_ptr failure = failure_of_all();
  const double total_s = elapsed_s();
  progress_.reset();
  if (run_.schedule == Schedule::dry_run) {
    if (failure) std::rethrow_exception(failure);
    return;
  }
  try {
    if (is_profiled()) report_profile();
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  Measurement measurement = settings();
  const EngineFigures after = engine_figures();
  measurement.operations = after.operations - before_.operations;
  measurement.inlined_operations = after.inlined - before_.inlined;
  measurement.frontend_s = frontend_s;
  measurement.frontend_wait_s = wait_s;
  measurement.total_s = total_s;
  add_memory(measurement);
  try {
    measurement.first_loss = first_loss_.item();
    measurement.last_loss = last_loss_.item();
    measurement.parameters_hash = parameters_hash(parameters);
  } catch (...) {
    if (failure) std::rethrow_exception(failure);  // which was the first
    throw;
  }
  result_ = std::move(measurement);
  if (failure) std::rethrow_exception(failure);
}

void Recorder::report_profile() const {
  const profiler::Summary summary = run_.trace.empty() ? profiler::stop() : profiler::stop(run_.trace);
  if (run_.explain) print("{}", summary.str());
  if (!run_.trace.empty()) print("trace: {}\n", run_.trace);
}

double Recorder::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

Measurement Recorder::settings() const {
  const std::int64_t budget_bytes = memory_figures(run_.device).budget_bytes;
  Measurement measurement{.name = run_.name,
                          .device = run_.device.str(),
                          .math = std::string(name_of(run_.math)),
                          .barrier = std::string(name_of(run_.barrier)),
                          .schedule = std::string(name_of(run_.schedule)),
                          .batches = batches_done_,
                          .options = run_.own,
                          .seed = run_.seed,
                          .workers = engine_options().workers};
  if (resumed_after_ > 0) measurement.resumed_after = resumed_after_;
  if (run_.barrier == Barrier::in_flight) measurement.in_flight = static_cast<std::int64_t>(run_.in_flight);
  if (budget_bytes >= 0) measurement.memory_budget_bytes = budget_bytes;
  return measurement;
}

void Recorder::add_memory(Measurement& measurement) {
  const MemoryFigures figures = memory_figures(run_.device);
  const std::int64_t allowed_bytes = std::max(figures.budget_bytes, figures.serial_peak_bytes);
  const bool bounded = figures.budget_bytes >= 0;
  measurement.setup_live_bytes = setup_live_bytes_;
  measurement.serial_peak_bytes = figures.serial_peak_bytes;
  measurement.peak_live_bytes = figures.peak_live_bytes;
  if (resident_) measurement.peak_rss_growth_bytes = resident_->growth_bytes();
  const EngineFigures engine = engine_figures();
  measurement.peak_queued_operations = engine.peak_queued;
  if (run_.recompute) {
    measurement.recomputed_operations = engine.recomputed_operations;
    measurement.added_work = engine.added_work();
  }
  measurement.budget_excess_bytes =
      bounded ? std::max<std::int64_t>(0, figures.peak_live_bytes - allowed_bytes) : std::int64_t{0};
  measurement.live_bytes_timeline = timeline_->samples();
  timeline_.reset();
}

std::string parameters_hash(const std::vector<Tensor>& parameters) {
  detail::Fnv1a hash;
  const auto add = [&](const auto& values) { hash.add(std::as_bytes(std::span(values))); };
  for (const Tensor& parameter : parameters) {
    switch (parameter.dtype()) {
      case DType::float32:
        add(parameter.to_vector<float>());
        break;
      case DType::float64:
        add(parameter.to_vector<double>());
        break;
      case DType::int64:
        add(parameter.to_vector<std::int64_t>());
        break;
      default:  // no loss: float64 holds all values of the smaller types
        add(parameter.to(float64).to_vector<double>());
    }
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace asyncgrad::experiment
