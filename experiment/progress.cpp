#include "asyncgrad/experiment/progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/experiment/print.h"

namespace asyncgrad::experiment {

namespace {
constexpr const char* erase_line = "\r\x1b[K";
}

ProgressLine::ProgressLine(std::string name, int batches)
    : name_(std::move(name)), batches_(batches), on_terminal_(isatty(STDERR_FILENO) == 1) {
  if (on_terminal_) thread_ = std::jthread([this](const std::stop_token& stop) { show(stop); });
}

ProgressLine::~ProgressLine() {
  if (!on_terminal_) return;
  thread_.request_stop();
  thread_.join();
  print_error("{}", erase_line);
}

void ProgressLine::show(const std::stop_token& stop) const {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  while (!never.wait_for(lock, stop, std::chrono::milliseconds(100), [&] { return stop.stop_requested(); })) {
    print_error("{}{}: {} of {} batches queued, {} operations unfinished", erase_line, name_,
                batch_.load(std::memory_order_relaxed), batches_, engine_figures().queued);
  }
}

void ProgressLine::print(const std::string& line) const {
  experiment::print("{}{}\n", on_terminal_ && isatty(STDOUT_FILENO) == 1 ? erase_line : "", line);
}

}  // namespace asyncgrad::experiment
