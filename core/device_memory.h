// Values in a device's memory, shared with other libraries that use the device in this process.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

namespace detail {
// device_data(), for an operation that errors name.
void* data_of(const Tensor& tensor, const char* operation);
// Calls synchronize() for each GPU that is in use here; one that has failed is passed over.
void synchronize_gpus() noexcept;
}  // namespace detail

// The address of the first value of a tensor, in the memory of its device; values are row major. Blocks until they are
// computed, and throws what made them fail. As host_data() otherwise: the address is valid as long as a handle of the
// tensor exists, and whoever shares it orders its accesses. Before the last handle goes, what others have queued on a
// GPU must be done with it: see synchronize(). Throws Error under Schedule::dry_run. Any thread may call it.
void* device_data(const Tensor& tensor);

// Blocks until the device has done everything that it was given, by this library or by others. What is queued here and
// not yet given to it is not waited for: wait_all() does that. Throws Error if there is no such device, or if it has
// failed. Any thread may call it.
void synchronize(Device device);

// Copies the values at `data`, row major in the memory of the tensor's device, into the tensor. Others must be done with
// writing them, or have queued that on CUDA's default stream. Blocks until they are copied. Throws as device_data() does,
// and for null where there are elements. Any thread may call it.
void copy_from_device_memory(const Tensor& to, const void* data);

}  // namespace asyncgrad
