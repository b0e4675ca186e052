// What a backend fills: a table from operation to kernel, and how its devices are used. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "asyncgrad/core/backend/formulas.h"
#include "asyncgrad/core/backend/kernel.h"
#include "asyncgrad/core/backend/operations.h"

namespace asyncgrad::detail {

class DeviceQueue;
class MemorySource;

// One for a kind of device. Filled once by make_backend and constant from then on.
struct Backend {
  const char* name = "";
  std::array<Kernel, op_count> kernels{};  // elementwise is not here but:
  std::array<Kernel, formulas::count> elementwise{};
  // Prepares the calling thread for running kernels (default rounding), and undoes it with what the first returned; 0:
  // nothing to undo.
  std::uint64_t (*enter_thread)() = nullptr;
  void (*leave_thread)(std::uint64_t previous) = nullptr;

  // Of devices that run on their own what is issued to them, see device_queue.h; null for devices that the
  // engine's threads compute for. The device's `index`-th queue. Throws Error if there is no such device.
  std::unique_ptr<DeviceQueue> (*make_queue)(Device device, int index) = nullptr;
  // Where a device's memory comes from. Null: the operating system, for devices that the engine's threads compute for.
  MemorySource& (*memory)(Device device) = nullptr;
};

// A row of the table that a backend writes. There is one for each operation.
struct KernelRow {
  Op op;
  const Kernel* kernel;
  bool is_written = true;
};
constexpr KernelRow not_yet(Op op) { return {op, nullptr, false}; }  // calls of the operation throw Error
constexpr KernelRow by_formula() { return {Op::elementwise, nullptr}; }

// Whether no operation is without a kernel.
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
