#include "examples/support/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/profiler.h"
#include "examples/support/output_file.h"
#include "examples/support/print.h"

namespace support {

namespace ag = asyncgrad;

namespace {

constexpr int batches_between_lines = 50;

class Fnv1a {
 public:
  template <class T>
  void add(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3U;
  }
  std::string str() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

// A list of pairs [elapsed_s, live_bytes].
Json pairs(const std::vector<ag::LiveBytesTimeline::Sample>& samples) {
  Json list = Json::array();
  for (const auto& sample : samples) list.push_back(Json::array({sample.elapsed_s, sample.live_bytes}));
  return list;
}

}  // namespace

void Recorder::start() {
  ag::wait_all();
  progress_ = std::make_unique<ProgressLine>(run_.name, run_.batches);
  ag::reset_peaks(run_.device);
  setup_live_bytes_ = ag::memory_figures(run_.device).live_bytes;
  resident_ = std::make_unique<PeakResident>();
  before_ = ag::engine_figures();
  timeline_ = std::make_unique<ag::LiveBytesTimeline>(run_.device);
  if (is_profiled()) ag::profiler::start();
  start_ = std::chrono::steady_clock::now();
}

void Recorder::batch_done(const ag::Tensor& loss) {
  ++batches_done_;
  progress_->batch_done(batches_done_);
  if (batches_done_ == 1) first_loss_ = loss;
  if (batches_done_ == run_.batches) last_loss_ = loss;
  if (batches_done_ % batches_between_lines == 0 && run_.schedule != ag::Schedule::dry_run) {
    progress_->print(fmt::format("batch {}, time {:.4f} sec", batches_done_, elapsed_s()));
  }
}

void Recorder::finish(const std::vector<ag::Tensor>& parameters) {
  const double frontend_s = elapsed_s();
  const double wait_s = ag::engine_figures().frontend_wait_s - before_.frontend_wait_s;
  ag::wait_all();
  const double total_s = elapsed_s();
  progress_.reset();
  if (run_.schedule == ag::Schedule::dry_run) return;
  // A trace that cannot be written does not cost the figures of the run.
  std::exception_ptr failure;
  try {
    if (is_profiled()) report_profile();
  } catch (...) {
    failure = std::current_exception();
  }
  result_ = settings();
  add_times(frontend_s, wait_s, total_s);
  add_memory();
  result_["first_loss"] = first_loss_.item();
  result_["last_loss"] = last_loss_.item();
  result_["parameters_hash"] = parameters_hash(parameters);
  if (failure) std::rethrow_exception(failure);
}

void Recorder::report_profile() const {
  std::unique_ptr<Replacement> trace;
  if (!run_.trace.empty()) trace = std::make_unique<Replacement>(run_.trace);
  const ag::profiler::Summary summary = trace ? ag::profiler::stop(trace->path()) : ag::profiler::stop();
  if (run_.explain) print("{}", summary.str());
  if (!trace) return;
  trace->commit();
  print("trace: {}\n", run_.trace);
}

double Recorder::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

Json Recorder::settings() const {
  const Json in_flight = run_.barrier == Barrier::in_flight ? Json(run_.in_flight) : Json(nullptr);
  const std::int64_t budget_bytes = ag::memory_figures(run_.device).budget_bytes;
  return {{"name", run_.name},
          {"device", run_.device.str()},
          {"math", run_.math},
          {"barrier", name_of(run_.barrier)},
          {"in_flight", in_flight},
          {"schedule", name_of(run_.schedule)},
          {"memory_budget_bytes", budget_bytes < 0 ? Json(nullptr) : Json(budget_bytes)},
          {"batches", batches_done_},
          {"batch_size", run_.batch_size},
          {"hidden", run_.hidden},
          {"lr", run_.lr},
          {"seed", run_.seed},
          {"workers", ag::engine_options().workers}};
}

void Recorder::add_times(double frontend_s, double wait_s, double total_s) {
  result_["operations"] = ag::engine_figures().operations - before_.operations;
  result_["frontend_s"] = frontend_s;
  result_["frontend_wait_s"] = wait_s;
  result_["total_s"] = total_s;
}

void Recorder::add_memory() {
  const ag::MemoryFigures figures = ag::memory_figures(run_.device);
  const std::int64_t allowed_bytes = std::max(figures.budget_bytes, figures.serial_peak_bytes);
  const bool bounded = figures.budget_bytes >= 0;
  result_["setup_live_bytes"] = setup_live_bytes_;
  result_["serial_peak_bytes"] = figures.serial_peak_bytes;
  result_["peak_live_bytes"] = figures.peak_live_bytes;
  result_["peak_rss_growth_bytes"] = resident_->growth_bytes();
  result_["peak_queued_operations"] = ag::engine_figures().peak_queued;
  result_["budget_excess_bytes"] =
      bounded ? std::max<std::int64_t>(0, figures.peak_live_bytes - allowed_bytes) : std::int64_t{0};
  result_["live_bytes_timeline"] = pairs(timeline_->samples());
  timeline_.reset();
}

std::string parameters_hash(const std::vector<ag::Tensor>& parameters) {
  Fnv1a hash;
  for (const ag::Tensor& parameter : parameters) {
    switch (parameter.dtype()) {
      case ag::DType::float32:
        hash.add(parameter.to_vector<float>());
        break;
      case ag::DType::float64:
        hash.add(parameter.to_vector<double>());
        break;
      case ag::DType::int64:
        hash.add(parameter.to_vector<std::int64_t>());
        break;
      default:  // no loss: float64 holds all values of the smaller types
        hash.add(parameter.to(ag::float64).to_vector<double>());
    }
  }
  return hash.str();
}

}  // namespace support
