// A report of a running program on demand: kill -USR1 PROCESS.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace asyncgrad::experiment {

// Prints report() on standard error each time the process gets SIGUSR1. No signal handler runs: the signal is blocked
// in the thread that constructs this and in all threads that are started later, and a thread of its own takes it. So no
// computation is interrupted, and the report may take locks and memory. Construct it before any other thread is
// started.
class ReportOnSignal {
 public:
  explicit ReportOnSignal(std::function<std::string()> report);
  ReportOnSignal(const ReportOnSignal&) = delete;
  ReportOnSignal& operator=(const ReportOnSignal&) = delete;
  // Waits for a report that is being printed. The signal stays blocked, so that a late one does not end the process.
  ~ReportOnSignal();

 private:
  std::jthread thread_;
};

}  // namespace asyncgrad::experiment
