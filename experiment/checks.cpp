#include "asyncgrad/experiment/checks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/file/whole_file.h"
#include "asyncgrad/core/math_mode.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/run_kind.h"

namespace asyncgrad::experiment {

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

// Whether it is a pipe, a socket or a disk: neither a file nor a device that takes text, such as /dev/null.
bool is_special(const std::string& file) {
  struct stat named {};
  if (stat(file.c_str(), &named) != 0) return false;
  return !S_ISREG(named.st_mode) && !S_ISCHR(named.st_mode) && !S_ISDIR(named.st_mode);
}

}  // namespace

Device use_device(const std::string& name) {
  try {
    const Device device(name);
    set_default_device(device);
    return device;
  } catch (const Error& error) {
    throw BadInput(fmt::format("--device: '{}' cannot be used: {}", name, error.what()));
  }
}

MathMode parse_math_mode(const std::string& name) {
  if (const auto mode = math_mode_of(name)) return *mode;
  reject("--math", name, math_mode_names());
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
  if (is_special(named.file)) {
    refuse(fmt::format("cannot write '{}': it is a pipe or another special file; give a regular file", named.file));
  }
  try {
    const detail::WholeFile not_committed("experiment", named.file);
  } catch (const Error& error) {
    refuse(error.parts().message);
  }
}

void check_picture(const char* option, const std::string& file) {
  if (!file.ends_with(".svg") && !file.ends_with(".png")) reject(option, file, "a file that ends in .svg or .png");
}

}  // namespace asyncgrad::experiment
