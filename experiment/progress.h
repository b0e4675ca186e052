// The progress of a run that is under way.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace asyncgrad::experiment {

// A line on standard error, if that is a terminal. It is rewritten in place and erased at the end.
class ProgressLine {
 public:
  ProgressLine(std::string name, int batches);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void batch_done(int batch) { batch_.store(batch, std::memory_order_relaxed); }
  // Prints a line that stays, on standard output.
  void print(const std::string& line) const;

 private:
  void show(const std::stop_token& stop) const;

  std::string name_;
  int batches_;
  bool on_terminal_;
  std::atomic<int> batch_ = 0;  // relaxed: a figure
  std::jthread thread_;         // shows that the engine computes while the front end waits for it
};

}  // namespace asyncgrad::experiment
