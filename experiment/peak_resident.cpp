#include "asyncgrad/experiment/peak_resident.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "asyncgrad/core/memory.h"

namespace asyncgrad::experiment {

namespace {

// Resets the kernel's peak (VmHWM); see proc(5). Containers may refuse it.
bool restart_system_peak() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool good = write(file, "5", 1) == 1;
  close(file);
  return good;
}

std::int64_t system_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

// Reads the resident set every few milliseconds, so it may miss short peaks.
class PeakResident::Sampler {
 public:
  Sampler() : thread_([this](const std::stop_token& stop) { sample(stop); }) {}
  std::int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void sample(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
      peak_.store(std::max(peak_bytes(), resident_bytes()), std::memory_order_relaxed);
      never.wait_for(lock, stop, std::chrono::milliseconds(3), [] { return false; });
    }
  }

  std::atomic<std::int64_t> peak_ = 0;  // relaxed: a figure
  std::jthread thread_;
};

PeakResident::PeakResident() {
  const bool restarted = restart_system_peak() && system_peak_bytes() > 0;
  start_bytes_ = resident_bytes();
  if (!restarted) sampler_ = std::make_unique<Sampler>();
}

PeakResident::~PeakResident() = default;

std::int64_t PeakResident::growth_bytes() const {
  const std::int64_t seen = sampler_ ? sampler_->peak_bytes() : system_peak_bytes();
  return std::max<std::int64_t>(0, std::max(seen, resident_bytes()) - start_bytes_);
}

}  // namespace asyncgrad::experiment
