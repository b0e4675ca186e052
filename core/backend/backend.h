// The interface of a backend: a table from operation to kernel, and functions for its devices. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "asyncgrad/core/backend/formulas.h"
#include "asyncgrad/core/backend/kernel.h"
#include "asyncgrad/core/backend/operations.h"
#include "asyncgrad/core/devices.h"

namespace asyncgrad::detail {

class DeviceQueue;
class MemorySource;

// There is one for each kind of device. make_backend fills it once, and it is constant from then on.
struct Backend {
  const char* name = "";
  std::array<Kernel, op_count> kernels{};  // by Op; elementwise operations have theirs below, by formula
  std::array<Kernel, formulas::count> elementwise{};
  // The first prepares the calling thread for running kernels (default rounding). The second undoes that, given what
  // the first returned; 0 stands for nothing to undo.
  std::uint64_t (*enter_thread)() = nullptr;
  void (*leave_thread)(std::uint64_t previous) = nullptr;

  // Makes the device's `index`-th queue. Null unless the devices run operations on their own, see device_queue.h.
  // Throws Error if there is no such device.
  std::unique_ptr<DeviceQueue> (*make_queue)(Device device, int index) = nullptr;
  // Makes the source of a device's memory. Null stands for the operating system, for devices that the engine's threads
  // compute for.
  MemorySource& (*memory)(Device device) = nullptr;

  // See devices() and free_bytes(). `why_none` is set where there are none. Null for the CPU, which core knows.
  std::vector<DeviceDescription> (*devices)(std::string& why_none) = nullptr;
  std::int64_t (*free_bytes)(Device device) = nullptr;
  // See device_memory.h. Both block. Null for the CPU, which has nothing to wait for.
  void (*synchronize)(Device device) = nullptr;
  void (*copy_now)(Device device, void* to, const void* from, std::size_t size) = nullptr;
};
inline constexpr const char* built_without_cuda = "this library was built without CUDA";

// A row of the table that a backend fills. There is one for each operation.
struct KernelRow {
  Op op;
  const Kernel* kernel;
  bool is_written = true;
};
constexpr KernelRow not_yet(Op op) { return {op, nullptr, false}; }  // calls of the operation throw Error
constexpr KernelRow made_of_others(Op op) { return {op, nullptr}; }  // see has_kernel()
constexpr KernelRow by_formula() { return {Op::elementwise, nullptr}; }

// Whether every operation has a kernel.
template <std::size_t count>
constexpr bool has_all_kernels(const std::array<KernelRow, count>& table) {
  for (const KernelRow& row : table) {
    if (!row.is_written) return false;
  }
  return true;
}

// Fails to compile unless every operation has its row, in the order of Op.
template <class... Rows>
consteval auto kernel_table(Rows... rows) {
  const std::array<KernelRow, sizeof...(rows)> table{rows...};
  static_assert(sizeof...(rows) == static_cast<std::size_t>(op_count), "every operation has a row");
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].op != static_cast<Op>(i)) throw "a row is not in its operation's place";
  }
  return table;
}
inline void fill(Backend& backend, const std::array<KernelRow, static_cast<std::size_t>(op_count)>& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].kernel != nullptr) backend.kernels[i] = *table[i].kernel;
  }
}

inline std::uint64_t enter_thread(const Backend& backend) {
  return backend.enter_thread == nullptr ? 0 : backend.enter_thread();
}
inline void leave_thread(const Backend& backend, std::uint64_t previous) {
  if (previous != 0) backend.leave_thread(previous);
}

// The backend of a device type, or null if the library was built without it. Defined in backends/.
const Backend* make_backend(DeviceType type);

}  // namespace asyncgrad::detail
