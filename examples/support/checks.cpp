#include "examples/support/checks.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/math_mode.h"
#include "examples/support/parse.h"

namespace support {

asyncgrad::Device use_device(const std::string& name) {
  try {
    const asyncgrad::Device device(name);
    asyncgrad::set_default_device(device);
    return device;
  } catch (const asyncgrad::Error& error) {
    throw BadInput(fmt::format("--device: '{}' cannot be used: {}", name, error.what()));
  }
}

void use_math_mode(const std::string& name) {
  if (name != "float32" && name != "bf16") reject("--math", name, "float32 or bf16");
  asyncgrad::set_math_mode(name == "bf16" ? asyncgrad::MathMode::bf16 : asyncgrad::MathMode::float32);
}

void check_writable(const char* option, const std::string& file) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(file, ignored);
  errno = 0;
  const bool good = std::ofstream(file, std::ios::app).good();
  if (!good) throw BadInput(fmt::format("{}: '{}' cannot be written: {}", option, file, std::strerror(errno)));
  if (!there) std::filesystem::remove(file, ignored);
}

void check_picture(const char* option, const std::string& file) {
  if (!file.ends_with(".svg") && !file.ends_with(".png")) reject(option, file, "a file that ends in .svg or .png");
}

}  // namespace support
