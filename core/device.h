// The devices on which tensors live and are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "asyncgrad/core/location.h"

namespace asyncgrad {

enum class DeviceType : std::uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  std::int8_t index = 0;

  constexpr Device() = default;
  // Throws Error for an index that no device can have.
  constexpr Device(DeviceType of_type, int number = 0)  // NOLINT(google-explicit-constructor)
      : type(of_type), index(static_cast<std::int8_t>(number)) {
    if (!is_index(number)) throw_bad_index(number);
  }
  // Takes "cpu", "cpu:0", "cuda", "cuda:1" and so on. Throws Error for anything else.
  // NOLINTNEXTLINE(google-explicit-constructor): `to("cuda:0")` is the point
  Device(std::string_view name, Location where = Location::current());
  // NOLINTNEXTLINE(google-explicit-constructor)
  Device(const char* name, Location where = Location::current()) : Device(std::string_view(name), where) {}
  Device(std::nullptr_t) = delete;  // the number 0 would be one

  // "cpu" for the first CPU device, "cpu:1", "cuda:0".
  std::string str() const;
  friend constexpr bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }

 private:
  static constexpr bool is_index(int number) { return number >= 0 && number < 128; }
  [[noreturn]] static void throw_bad_index(int number);
};

// Sets the device on which factories and layers put their tensors by default; at first it is the CPU. The setting is
// the process's: set it before threads that create tensors start. Throws Error if there is no such device.
void set_default_device(Device device);
Device default_device();

}  // namespace asyncgrad
