#include "asyncgrad/core/engine/life/device_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "asyncgrad/core/engine/device/launcher.h"
#include "asyncgrad/core/engine/life/options.h"
#include "asyncgrad/core/engine/schedule/side_executor.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

DeviceSet::Wanted DeviceSet::wanted(int cpu_parts) {
  Wanted wanted;
  const Backend& cpu = *make_backend(DeviceType::cpu);
  for (int part = 0; part < cpu_parts; ++part) {
    wanted.all.push_back(&Devices::make_state({DeviceType::cpu, part}, cpu, context_.failures));
  }
  for (DeviceState* device : devices_) {
    if (device->is_asynchronous) wanted.all.push_back(device);
  }
  // A thread that has prepared for a source, or a collective, may be about to queue it.
  for (DeviceState* device : wanted.all) {
    if (device->sources.load(std::memory_order_relaxed) != nullptr) wanted.with_sources.push_back(device);
    if (device->collectives.load(std::memory_order_relaxed) != nullptr) wanted.with_collectives.push_back(device);
  }
  devices_.reserve(wanted.all.size());  // so that set_up() asks for no memory before it has made a device
  return wanted;
}

std::exception_ptr DeviceSet::set_up(const Wanted& wanted, std::uint64_t next) {
  // Those that stay can be found all the time.
  for (DeviceState* device : devices_) {
    if (std::ranges::find(wanted.all, device) == wanted.all.end()) Devices::remove(*device);
  }
  context_.executors.clear();
  devices_.clear();

  std::exception_ptr refusal;
  Order* const only = wanted.all.size() == 1 ? &context_.ring.order() : nullptr;
  const auto unless_refused = [&](const auto& step) {
    try {
      step();
      return true;
    } catch (...) {
      if (refusal == nullptr) refusal = std::current_exception();
      return false;
    }
  };
  for (DeviceState* device : wanted.all) {
    const bool is_made = unless_refused([&] {
      device->set_order(only, context_.ring.slots(), next);
      set_up(*device);
    });
    if (!is_made) {
      Devices::remove(*device);
      continue;
    }
    devices_.push_back(device);
    Devices::add(*device);
    const auto is_in = [device](const std::vector<DeviceState*>& some) {
      return std::ranges::find(some, device) != some.end();
    };
    // Where this is refused, the next source or collective makes them.
    unless_refused([&] {
      if (is_in(wanted.with_sources)) add_sources(*device, next);
      if (is_in(wanted.with_collectives)) add_collectives(*device, device->collective_threads, next);
    });
  }
  return refusal;
}

void DeviceSet::set_up(DeviceState& device) {
  const bool by_arrival = options_.schedule == Schedule::first_ready;
  device.set_up(context_.ring.slots(), by_arrival ? MemoryBudget::unbounded() : options_.memory_budget,
                options_.max_cached_bytes);
  if (!device.is_asynchronous) return set_up_cpu_part(device);
  Executor& launcher =
      add_executor(std::make_unique<Launcher>(context_, device, by_arrival), 1, false, device.device.str() + " launch");
  device.executor.store(&launcher, std::memory_order_relaxed);
  device.copies.store(&launcher, std::memory_order_relaxed);
}

void DeviceSet::set_up_cpu_part(DeviceState& device) {
  // The parts differ by one worker at most.
  const int part = static_cast<std::uint8_t>(device.device.index), parts = options_.cpu_parts;
  const int workers = options_.workers * (part + 1) / parts - options_.workers * part / parts;
  const bool has_cores = options_.workers <= core_count();
  const std::string name = device.device.str();
  Executor& executor = add_executor(make_executor(device, false), std::max(1, workers), has_cores, name + " worker");
  device.executor.store(&executor, std::memory_order_relaxed);
  device.sources.store(nullptr, std::memory_order_relaxed);  // the first source makes them
  device.collectives.store(nullptr, std::memory_order_relaxed);
  // A thread for copies would take a core from the workers if it spun.
  Executor& copies = parts == 1 ? executor : add_executor(make_executor(device, true), 1, false, "copies to " + name);
  device.copies.store(&copies, std::memory_order_relaxed);
}

std::unique_ptr<Executor> DeviceSet::make_executor(DeviceState& device, bool for_copies) const {
  const bool by_arrival = options_.schedule == Schedule::first_ready;
  if (for_copies) return std::make_unique<SideExecutor>(context_, device, by_arrival);
  return std::make_unique<CpuExecutor>(context_, device, by_arrival);
}

void DeviceSet::add_sources(DeviceState& device, std::uint64_t next) {
  if (device.sources.load(std::memory_order_relaxed) != nullptr) return;  // another thread came first
  const bool by_arrival = options_.schedule == Schedule::first_ready;
  device.set_order(nullptr, context_.ring.slots(), next);  // f of the device steps over sources, the program's does not
  Executor& sources = add_executor(std::make_unique<SourceExecutor>(context_, device, by_arrival),
                                   options_.source_threads, false, "sources of " + device.device.str());
  device.sources.store(&sources, std::memory_order_release);
}

void DeviceSet::add_collectives(DeviceState& device, int threads, std::uint64_t next) {
  if (device.collectives.load(std::memory_order_relaxed) != nullptr) return;  // as for sources
  const bool by_arrival = options_.schedule == Schedule::first_ready;
  device.set_order(nullptr, context_.ring.slots(), next);
  Executor& collectives = add_executor(std::make_unique<CollectiveExecutor>(context_, device, by_arrival), threads,
                                       false, "collectives of " + device.device.str());
  device.collective_threads = threads;
  device.collectives.store(&collectives, std::memory_order_release);
}

Executor& DeviceSet::add_executor(std::unique_ptr<Executor> executor, int workers, bool may_spin,
                                  const std::string& name) {
  executor->workers().configure(workers, may_spin, name);
  return context_.executors.add(std::move(executor));
}

// The devices that exist, and what would make others.
void DeviceSet::throw_absent(Device device) const {
  std::string known;
  for (int part = 0; part < options_.cpu_parts; ++part) {
    known += (known.empty() ? "" : ", ") + Device(DeviceType::cpu, part).str();
  }
  for (const DeviceState* other : devices_) {
    if (other->device.type != DeviceType::cpu) known += ", " + other->device.str();
  }
  const std::string_view hint = device.type == DeviceType::cpu
                                    ? in_program("EngineOptions::cpu_parts makes several of the CPU",
                                                 "set_engine_options(cpu_parts=…) makes several of the CPU")
                                : make_backend(device.type) == nullptr ? built_without_cuda
                                                                       : "there are not so many GPUs";
  throw_error("device", fmt::format("there is no {} here, only {}; {}", device.str(), known, hint));
}

DeviceState& DeviceSet::add(Device device, std::uint64_t next) {
  const auto type = static_cast<std::size_t>(device.type);
  if (type >= Devices::types)
    throw_error("device", fmt::format("there is no type of devices with the number {}", type));
  // Another thread may have come first.
  for (DeviceState* other : devices_) {
    if (other->device == device) return *other;
  }
  if (device.type == DeviceType::cpu || static_cast<std::uint8_t>(device.index) >= Devices::max_of_a_type) {
    throw_absent(device);
  }
  const Backend* const backend = backends_[type] != nullptr ? backends_[type] : make_backend(device.type);
  if (backend == nullptr) throw_absent(device);
  DeviceState& state = Devices::make_state(device, *backend, context_.failures);
  devices_.reserve(devices_.size() + 1);
  for (DeviceState* other : devices_) other->set_order(nullptr, context_.ring.slots(), next);  // the first, if alone
  state.set_order(nullptr, context_.ring.slots(), next);
  set_up(state);
  devices_.push_back(&state);
  Devices::add(state);  // a thread that finds it finds it whole
  return state;
}

void DeviceSet::replace_backend(DeviceType type, const Backend* backend) {
  backends_[static_cast<std::size_t>(type)] = backend;
  for (DeviceState* device : devices_) device->allocator.forget_pinned();
  std::erase_if(devices_, [type](DeviceState* device) {
    const bool is_replaced = device->device.type == type && device->is_asynchronous;
    if (is_replaced) Devices::remove(*device);
    return is_replaced;
  });
}

}  // namespace asyncgrad::detail
