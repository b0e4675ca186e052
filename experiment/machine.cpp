#include "asyncgrad/experiment/machine.h"

#include <fmt/format.h>

#include <fstream>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <thread>

#include "asyncgrad/core/devices.h"

namespace asyncgrad::experiment {

namespace {

// The name in /etc/os-release: PRETTY_NAME="Debian GNU/Linux 12 (bookworm)".
std::string os() {
  constexpr std::string_view key = "PRETTY_NAME=\"";
  std::ifstream lines("/etc/os-release");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return line.substr(key.size(), line.rfind('"') - key.size());
  }
  return "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang++ {}", __clang_version__);
#else
  return fmt::format("g++ {}", __VERSION__);
#endif
}

std::string onednn() {
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace

Machine machine() {
  const DeviceDescription cpu = devices().front();
  return {.cpu = cpu.name,
          .cores = std::thread::hardware_concurrency(),
          .memory_bytes = cpu.memory_bytes,
          .os = os(),
          .compiler = compiler(),
          .onednn = onednn()};
}

}  // namespace asyncgrad::experiment
