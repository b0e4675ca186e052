#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

const DeviceCases& device_cases() {
  static const DeviceCases all = [] {
    DeviceCases cases;
    for (const auto subject :
         {attention_cases, elementwise_cases, movement_cases, normalisation_cases, nothing_cases, product_cases,
          random_cases, reduction_cases, scan_cases, sequence_cases, update_cases, window_cases}) {
      for (DeviceCase& c : subject()) cases.push_back(std::move(c));
    }
    return cases;
  }();
  return all;
}

}  // namespace asyncgrad::tests
