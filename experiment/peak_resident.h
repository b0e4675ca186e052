// The growth of the process's resident set.
#pragma once

#include <cstdint>
#include <memory>

namespace asyncgrad::experiment {

// Watches the resident set from construction on. Only one may exist at a time: the system keeps one peak for a process.
class PeakResident {
 public:
  PeakResident();
  PeakResident(const PeakResident&) = delete;
  PeakResident& operator=(const PeakResident&) = delete;
  ~PeakResident();

  // The most by which the resident set has exceeded its size at construction; at least 0.
  std::int64_t growth_bytes() const;

 private:
  class Sampler;
  std::int64_t start_bytes_;
  std::unique_ptr<Sampler> sampler_;  // where the system's own peak cannot be reset
};

}  // namespace asyncgrad::experiment
