// All that the engine keeps for one device. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/backend/kernels.h"
#include "asyncgrad/core/engine/schedule/admission.h"
#include "asyncgrad/core/engine/schedule/device_order.h"
#include "asyncgrad/core/memory/device_memory.h"
#include "asyncgrad/core/memory/memory_source.h"
#include "asyncgrad/core/memory/storage.h"

namespace asyncgrad::detail {

class Stream;

struct DeviceState final : DeviceMemory {
  DeviceState(Device of_device, const Backend& of_backend)
      : DeviceMemory(of_device, of_backend.memory == nullptr ? host_memory() : of_backend.memory(of_device)),
        backend(&of_backend),
        is_asynchronous(of_backend.make_queue != nullptr) {}

  void early_memory_returned(std::uint64_t taken_by, std::int64_t size_bytes) noexcept override {
    admission->give_back(taken_by, size_bytes);
  }
  void cure(Storage& storage) noexcept override;

  // Constant, but while the engine is set up, which is while nothing is queued.
  const Backend* backend;
  const bool is_asynchronous;  // what is issued to it is complete later
  Stream* stream = nullptr;    // of its operations; null: the device is not in use
  Stream* copies = nullptr;    // of copies that it writes or, of a device with queues of its own, that it takes part in
  std::unique_ptr<Admission> admission;
  std::unique_ptr<DeviceOrder> order;                  // null as long as there is no other device
  const std::atomic<std::uint64_t>* oldest = nullptr;  // f in the order that `admission` goes by
  // Why the device does nothing any more; null as long as it does. Release, acquire: the message.
  std::atomic<Failure*> failure{nullptr};

  // Under the front end's lock: the largest serial_live since the last operation was queued.
  alignas(128) std::int64_t serial_since_queued = 0;
  // Bytes here of the operands of copies that are queued and not complete, of an asynchronous device.
  std::atomic<std::int64_t> copied_bytes{0};
};

// Every device's memory is part of such a state.
inline DeviceState& state_of(const Storage& storage) { return static_cast<DeviceState&>(*storage.device); }

}  // namespace asyncgrad::detail
