#include "asyncgrad/core/device.h"

#include <fmt/format.h>

#include <charconv>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

// Needs no lock: programs set it before they start threads, as its declaration demands.
Device& current_default() {
  static Device device;
  return device;
}

}  // namespace

Device::Device(std::string_view name, Location where) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  bool good = kind == "cpu" || kind == "cuda";
  type = kind == "cuda" ? DeviceType::cuda : DeviceType::cpu;
  if (colon != std::string_view::npos) {
    const char* end = name.data() + name.size();
    int number = -1;
    const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, number);
    good = good && error == std::errc() && stop == end && is_index(number);
    index = static_cast<std::int8_t>(number);
  }
  if (good) return;
  const CallSite site(CallSite::current().file != nullptr ? CallSite::current() : where);  // of a call around it
  throw_error("device", fmt::format("no device is called '{}': cpu, cpu:0, cuda, cuda:1 …", name));
}

void Device::throw_bad_index(int number) { throw_error("device", fmt::format("no device has the index {}", number)); }

std::string Device::str() const {
  return type == DeviceType::cpu && index == 0 ? "cpu"
                                               : fmt::format("{}:{}", type == DeviceType::cpu ? "cpu" : "cuda", index);
}

void set_default_device(Device device) {
  detail::device_state(device);
  current_default() = device;
}

Device default_device() { return current_default(); }

}  // namespace asyncgrad
