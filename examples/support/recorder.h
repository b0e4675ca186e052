// Measures one run of a training loop: its time, its memory and its results.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/tensor.h"
#include "examples/support/machine.h"
#include "examples/support/options.h"
#include "examples/support/peak_resident.h"
#include "examples/support/progress.h"

namespace support {

// A training loop calls start() once after its warm-up, batch_done() at the end of every batch, and finish() after the
// last one, all on one thread.
class Recorder {
 public:
  explicit Recorder(const Run& run) : run_(run) {}

  // Waits for everything queued so far and starts to measure. Blocks.
  void start();
  // Counts the batch; after every 50th it prints the time of the front end. `loss` is a scalar; this does not wait for
  // it.
  void batch_done(const asyncgrad::Tensor& loss);
  // Waits for everything, stops measuring, and keeps the parameters' hash; writes the trace and prints the table that
  // were asked for. Blocks. Throws the oldest asyncgrad::Error that no call has thrown so far. Throws FileError or
  // asyncgrad::Error if the trace cannot be written; the result is complete in that case.
  void finish(const std::vector<asyncgrad::Tensor>& parameters);

  // The run as data after finish(), else null; always null in a dry run.
  const Json& result() const { return result_; }

 private:
  bool is_profiled() const { return run_.explain || !run_.trace.empty(); }
  void report_profile() const;
  double elapsed_s() const;
  Json settings() const;
  void add_times(double frontend_s, double wait_s, double total_s);
  void add_memory();

  Run run_;
  int batches_done_ = 0;
  asyncgrad::Tensor first_loss_, last_loss_;
  std::int64_t setup_live_bytes_ = 0;
  asyncgrad::EngineFigures before_;
  std::unique_ptr<ProgressLine> progress_;
  std::unique_ptr<PeakResident> resident_;
  std::unique_ptr<asyncgrad::LiveBytesTimeline> timeline_;
  std::chrono::steady_clock::time_point start_;
  Json result_;
};

// FNV-1a, 64 bits, over the bits of all tensors in their order, as 16 hexadecimal digits
// (http://www.isthe.com/chongo/tech/comp/fnv/). Blocks until they are computed.
std::string parameters_hash(const std::vector<asyncgrad::Tensor>& parameters);

}  // namespace support
