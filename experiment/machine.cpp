#include "asyncgrad/experiment/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <thread>

namespace asyncgrad::experiment {

namespace {

// The value of the first line "key<spaces>separator value" of a file, without quotation marks.
std::string value_in(const char* file, std::string_view key, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t middle = line.find(separator);
    if (!line.starts_with(key) || middle == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t\"", middle + 1);
    const std::size_t last = line.find_last_not_of(" \t\"");
    if (first != std::string::npos) return line.substr(first, last - first + 1);
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
  return {.cpu = value_in("/proc/cpuinfo", "model name", ':'),
          .cores = std::thread::hardware_concurrency(),
          .memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
          .os = value_in("/etc/os-release", "PRETTY_NAME", '='),
          .compiler = compiler(),
          .onednn = onednn()};
}

}  // namespace asyncgrad::experiment
