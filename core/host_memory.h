// Values in the host's memory, shared with other libraries without a copy.
#pragma once

#include <functional>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The address of the first value of a tensor on the CPU; values are row major. Blocks until they are computed, and
// throws what made them fail. The address is valid as long as a handle of the tensor exists. Operations that are queued
// later see what the program writes there, and queued operations that write the tensor change it. Throws Error for a
// tensor on a GPU, and under Schedule::dry_run.
void* host_data(const Tensor& tensor);

// A tensor on `device`, a part of the CPU, whose values are at `data`, row major, in memory that stays the caller's:
// nothing is copied, and memory figures do not count it. `release` is called when neither a handle nor a queued
// operation uses it any more, on any thread; it may not throw, wait or queue. Does not block. Throws Error for a device
// that is no part of the CPU.
Tensor from_host_memory(void* data, DType dtype, const Shape& shape, std::function<void()> release,
                        Device device = DeviceType::cpu);

}  // namespace asyncgrad
