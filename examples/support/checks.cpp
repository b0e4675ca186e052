#include "examples/support/checks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/math_mode.h"
#include "examples/support/output_file.h"
#include "examples/support/parse.h"

namespace support {

namespace {

namespace fs = std::filesystem;

bool is_one_file(const std::string& a, const std::string& b) {
  std::error_code error;  // a name that leads nowhere is refused elsewhere
  if (a.empty() || b.empty() || fs::is_character_file(a, error)) return false;
  if (fs::exists(a, error) && fs::exists(b, error)) return fs::equivalent(a, b, error);
  return fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

// Whether standard output or standard error goes to this file, which then cannot be replaced without losing their text.
bool is_printed_to(const std::string& file) {
  struct stat named {
  }, stream{};
  if (stat(file.c_str(), &named) != 0 || !S_ISREG(named.st_mode)) return false;
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fstat(number, &stream) == 0 && stream.st_dev == named.st_dev && stream.st_ino == named.st_ino) return true;
  }
  return false;
}

}  // namespace

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

void check_distinct(const std::vector<NamedFile>& files) {
  for (auto later = files.begin(); later != files.end(); ++later) {
    for (auto earlier = files.begin(); earlier != later; ++earlier) {
      if (!is_one_file(earlier->file, later->file)) continue;
      throw BadInput(
          fmt::format("{}: '{}' is the file of {}, too; give two files", later->option, later->file, earlier->option));
    }
  }
}

void check_writable(const NamedFile& named) {
  const auto refuse = [&](const std::string& why) { throw BadInput(fmt::format("{}: {}", named.option, why)); };
  if (is_printed_to(named.file)) refuse(fmt::format("'{}' is where this program prints its messages", named.file));
  try {
    const Replacement not_committed(named.file);
  } catch (const FileError& error) {
    refuse(error.what());
  }
}

void check_picture(const char* option, const std::string& file) {
  if (!file.ends_with(".svg") && !file.ends_with(".png")) reject(option, file, "a file that ends in .svg or .png");
}

}  // namespace support
