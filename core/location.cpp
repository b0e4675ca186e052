#include "asyncgrad/core/location.h"

#include <fmt/format.h>

#include <filesystem>

namespace asyncgrad {

std::string Location::str() const {
  if (file == nullptr) return "an unknown line";
  return fmt::format("{}:{}", std::filesystem::path(file).filename().string(), line);
}

}  // namespace asyncgrad
