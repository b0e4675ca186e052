#include "asyncgrad/core/devices.h"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "asyncgrad/core/backend/backend.h"
#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/engine/engine.h"

namespace asyncgrad {

namespace {

// What follows the first "key<spaces>: " in a file of the system, or "".
std::string system_value(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? "" : line.substr(first);
  }
  return "";
}

std::vector<DeviceDescription> gpus(std::string& why_none) {
  const detail::Backend* const cuda = detail::make_backend(DeviceType::cuda);
  if (cuda != nullptr) return cuda->devices(why_none);
  why_none = detail::built_without_cuda;
  return {};
}

}  // namespace

std::vector<DeviceDescription> devices() {
  std::vector<DeviceDescription> all;
  static const std::string processor = system_value("/proc/cpuinfo", "model name");  // a long file on large machines
  const std::int64_t memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  for (int part = 0; part < engine_options().cpu_parts; ++part) {
    all.push_back({{DeviceType::cpu, part}, processor.empty() ? "unknown" : processor, memory_bytes, 0});
  }
  std::string why_none;
  for (DeviceDescription& gpu : gpus(why_none)) all.push_back(std::move(gpu));
  return all;
}

std::string why_no_gpu() {
  std::string why_none;
  return gpus(why_none).empty() ? why_none : "";
}

std::int64_t free_bytes(Device device) {
  const detail::Backend& backend = *detail::device_state(device).backend;
  if (backend.free_bytes != nullptr) return backend.free_bytes(device);
  const std::string available = system_value("/proc/meminfo", "MemAvailable");  // "12345 kB"
  return available.empty() ? 0 : std::stoll(available) << 10;
}

}  // namespace asyncgrad
