// Reads and writes files for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace asyncgrad::tests {

inline std::string content(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

inline auto number_of_files(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace asyncgrad::tests
