// A kernel made for a test, in place of that of `fill`.
#pragma once

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/memory/storage.h"  // KernelCall::data, for kernels

namespace asyncgrad::tests {

// While it lives, the device has another kernel for `fill`.
class OtherFill {
 public:
  explicit OtherFill(const detail::Kernel& fill) : device_(detail::device_state(Device())), before_(device_.backend) {
    backend_ = *before_;
    backend_.kernels[static_cast<std::size_t>(detail::Op::fill)] = fill;
    mark().wait();
    device_.backend = &backend_;
  }
  OtherFill(const OtherFill&) = delete;
  OtherFill& operator=(const OtherFill&) = delete;
  ~OtherFill() {
    set_engine_options({});  // ends the workers, which use the backend
    device_.backend = before_;
  }

 private:
  detail::DeviceState& device_;
  const detail::Backend* before_;
  detail::Backend backend_;
};

}  // namespace asyncgrad::tests
