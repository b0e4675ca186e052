// Measures one run of a training loop: its time, its memory and its results.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/experiment/measurement.h"
#include "asyncgrad/experiment/peak_resident.h"
#include "asyncgrad/experiment/plan.h"
#include "asyncgrad/experiment/progress.h"

namespace asyncgrad::experiment {

struct RecorderOptions {
  bool is_silent = false;       // prints nothing
  bool shares_process = false;  // with other runs, so that the growth of the resident set says nothing of this one
};

// A training loop calls start() once after its warm-up, batch_done() at the end of every batch, and finish() after the
// last one, all on one thread.
class Recorder {
 public:
  explicit Recorder(const Run& run, RecorderOptions options = {}) : run_(run), options_(options) {}

  // Waits for everything queued so far and starts to measure. `resumed_after`: so many of the run's batches were done
  // before, by another process. Blocks.
  void start(int resumed_after = 0);
  // Counts the batch; after every 50th it prints the time of the front end. `loss` is a scalar; this does not wait for
  // it.
  void batch_done(const Tensor& loss);
  // Waits for everything, stops measuring, and keeps the parameters' hash. Writes the trace and prints the table if
  // they were asked for. Blocks. Throws the oldest Error that no call has thrown so far. Throws Error if the trace
  // cannot be written; the result is complete in that case, and if what failed was neither a loss nor a parameter.
  void finish(const std::vector<Tensor>& parameters);

  // The measurement, after finish(); nothing before that, or in a dry run.
  const std::optional<Measurement>& result() const { return result_; }

 private:
  bool is_profiled() const { return run_.explain || !run_.trace.empty(); }
  void report_profile() const;
  double elapsed_s() const;
  Measurement settings() const;
  void add_memory(Measurement& measurement);

  Run run_;
  RecorderOptions options_;
  int resumed_after_ = 0, batches_done_ = 0;
  Tensor first_loss_, last_loss_;
  std::int64_t setup_live_bytes_ = 0;
  EngineFigures before_;
  std::unique_ptr<ProgressLine> progress_;
  std::unique_ptr<PeakResident> resident_;
  std::unique_ptr<LiveBytesTimeline> timeline_;
  std::chrono::steady_clock::time_point start_;
  std::optional<Measurement> result_;
};

// FNV-1a, 64 bits, over the bits of all tensors in their order, as 16 hexadecimal digits
// (http://www.isthe.com/chongo/tech/comp/fnv/). Blocks until they are computed.
std::string parameters_hash(const std::vector<Tensor>& parameters);

}  // namespace asyncgrad::experiment
