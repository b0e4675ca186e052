// Fails if the library reads a variable of the environment that is not listed here.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

// The arguments of every "getenv(…)" below `folder`, secure_getenv's included.
std::set<std::string> variables_read(const fs::path& folder) {
  static const std::regex pattern(R"re(getenv\b\s*\(?([^),;]*))re");
  std::set<std::string> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    for (auto match = std::sregex_iterator(source.begin(), source.end(), pattern); match != std::sregex_iterator();
         ++match) {
      found.insert((*match)[1]);
    }
  }
  return found;
}

// The last one is for tests of the CUDA backend.
TEST(Environment, HasTwoVariablesForTheLibraryAndOneForItsTests) {
  const fs::path root(ASYNCGRAD_SOURCE_DIR);
  std::set<std::string> found;
  for (const char* folder : {"core", "autograd", "nn", "optim", "data", "backends", "experiment"})
    found.merge(variables_read(root / folder));
  EXPECT_EQ(found, (std::set<std::string>{"\"ASYNCGRAD_SCHEDULE\"", "\"ASYNCGRAD_WORKERS\"",
                                          "\"ASYNCGRAD_VALUES_AT_PAGE_ENDS\""}));
}

TEST(Environment, IsSearchedForOtherVariables) {
  const asyncgrad::tests::TemporaryFolder folder;
  std::ofstream(folder.file("some.cpp")) << "auto x = std::getenv(\"A\");\nauto y = secure_getenv (name);\n";
  std::ofstream(folder.file("other.h")) << "auto* read = &getenv;\n";
  EXPECT_EQ(variables_read(folder.path()), (std::set<std::string>{"\"A\"", "", "name"}));
}

}  // namespace
