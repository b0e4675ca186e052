// The devices that are in use, and their executors. Internal.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/admission/devices.h"
#include "asyncgrad/core/engine/schedule/executors.h"

namespace asyncgrad::detail {

// Makes executors, orders and admission of the devices, as the options say.
//
// Thread safety: all() while no device is added; all else while nothing is queued and under the front end's lock.
class DeviceSet {
 public:
  DeviceSet(const ExecutorContext& context, const EngineOptions& options) : context_(context), options_(options) {}

  std::span<DeviceState* const> all() const { return devices_; }
  // The devices that are to be in use: the parts of the CPU, and the others that are in use now.
  struct Wanted {
    std::vector<DeviceState*> all, with_sources, with_collectives;
  };
  // May throw std::bad_alloc, with nothing changed.
  Wanted wanted(int cpu_parts);
  // Sets up these devices anew. The ring has been made, and `next` is the next number in the order of the program. Returns
  // the error of a device that does not come into use again: the others are, and whatever asks for that one next tries
  // again.
  [[nodiscard]] std::exception_ptr set_up(const Wanted& wanted, std::uint64_t next);
  // Takes another device into use. Throws Error, with nothing changed, if there is none of that name.
  DeviceState& add(Device device, std::uint64_t next);
  // Makes the executor of a CPU part's sources. Throws Error, with nothing changed but the device's order.
  void add_sources(DeviceState& device, std::uint64_t next);
  // The same for collectives, of which `threads` may run at once.
  void add_collectives(DeviceState& device, int threads, std::uint64_t next);
  // Puts a backend in place of the library's, for tests; null brings the library's back. Devices of the type are
  // not in use any more; wanted() and set_up() have to follow.
  void replace_backend(DeviceType type, const Backend* backend);

 private:
  [[noreturn]] void throw_absent(Device device) const;
  void set_up(DeviceState& device);
  std::unique_ptr<Executor> make_executor(DeviceState& device, bool for_copies) const;
  Executor& add_executor(std::unique_ptr<Executor> executor, int workers, bool may_spin, const std::string& name);
  void set_up_cpu_part(DeviceState& device);

  const ExecutorContext& context_;
  const EngineOptions& options_;
  std::vector<DeviceState*> devices_;
  std::array<const Backend*, Devices::types> backends_{};  // of tests; null: the library's
};

}  // namespace asyncgrad::detail
