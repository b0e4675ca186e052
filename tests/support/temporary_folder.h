// A folder for the files of one test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "tests/support/files.h"

namespace asyncgrad::tests {

// The folder has a name that nothing else uses. The destructor removes it with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::path(testing::TempDir()) / "asyncgrad-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  // The path of the file `name` in it.
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // An error's message without the path of the file `name`, which it has in quotes.
  std::string without_path(std::string message, const std::string& name) const {
    const std::string path = "'" + file(name) + "' ";
    const std::size_t at = message.find(path);
    return at == std::string::npos ? message : message.erase(at, path.size());
  }

 private:
  std::string path_;
};

// The base of tests that have a folder each.
template <class Test = testing::Test>
class WithFolder : public Test {
 protected:
  const std::string& folder() const { return folder_.path(); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  // Writes the file `name`.
  std::string file_with(const std::string& name, const std::string& text) const {
    write(file(name), text);
    return file(name);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace asyncgrad::tests
