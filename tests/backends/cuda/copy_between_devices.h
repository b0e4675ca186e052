// A program that uses all that a device does.
#pragma once

#include <cstdint>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// Uses memory, kernels, copies in each direction, within one device and between two, and the return of memory to the
// driver. Returns `count` times 8.
inline std::vector<float> copy_between_devices(std::int64_t count) {
  const Tensor host = full({count}, 1);
  Tensor x = host.to("cuda:0");
  x += 1.0;
  const Tensor y = x.clone().to("cuda:1") * 2.0;
  wait_all();
  x = y.to("cuda:0");
  trim_cache("cuda:0");
  trim_cache("cuda:1");
  wait_all("cuda:1");
  std::vector<float> values = (x + (y * 1.0).to("cuda:0")).to_vector<float>();
  wait_all();
  return values;
}

}  // namespace asyncgrad::tests
