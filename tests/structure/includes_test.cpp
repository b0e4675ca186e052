// Fails on an #include that goes from one folder to another where the design draws no arrow.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// A file may include what the first row says whose `from` begins its path. Entries that end in '/' are folders; names
// are relative to the root of the tree, as in "asyncgrad/core/tensor.h".
struct Arrow {
  std::string_view from;
  std::vector<std::string_view> may_include;
};
const std::vector<Arrow> arrows = {
    {"asyncgrad.h", {"core/", "autograd/", "nn/", "optim/"}},  // and what it includes, below
    {"core/", {"core/"}},
    {"autograd/", {"autograd/", "core/"}},
    {"nn/", {"nn/", "autograd/", "core/"}},
    {"optim/", {"optim/", "autograd/", "core/"}},
    {"backends/cpu/", {"backends/cpu/", "core/"}},
    {"backends/cuda/", {"backends/cuda/", "core/"}},
    {"backends/", {"backends/", "core/"}},  // make_backend, which knows every backend
    {"examples/", {"asyncgrad.h", "examples/support/"}},
    {"tests/package/", {"asyncgrad.h"}},
    {"tests/readme/", {"asyncgrad.h"}},
    {"tests/", {""}},
    {"benchmarks/", {""}},
};

// Inside, for those that do not own it: of these folders and headers only core/, autograd/ and backends/ may know all.
const std::vector<std::string_view> internal = {"core/storage/",      "core/engine/",    "core/kernels.h",
                                                "core/tensor_impl.h", "core/formulas.h", "autograd/node.h"};
// What layers and optimisers need of it: to hand over an operation, and to say which layer it belongs to.
const std::vector<std::string_view> open_to_layers = {"core/engine/submit.h", "core/engine/origin.h", "core/kernels.h",
                                                      "core/tensor_impl.h"};

bool begins_with_any(std::string_view path, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return path.starts_with(beginning); });
}

bool is_allowed(std::string_view file, std::string_view included) {
  const auto arrow =
      std::find_if(arrows.begin(), arrows.end(), [&](const Arrow& row) { return file.starts_with(row.from); });
  if (arrow == arrows.end() || !begins_with_any(included, arrow->may_include)) return false;
  const bool hidden = begins_with_any(included, internal);
  if (file == "asyncgrad.h") return !hidden;
  if (begins_with_any(file, {"nn/", "optim/"})) return !hidden || begins_with_any(included, open_to_layers);
  // Kernels see storages and nothing of the engine.
  if (file.starts_with("backends/")) return !included.starts_with("core/engine/");
  return true;
}

bool is_source(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh";
}

// The "asyncgrad/…" and other quoted names that a file includes, without "asyncgrad/".
std::vector<std::string> includes_of(const fs::path& path) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*"(asyncgrad/)?([^"]+)")re");
  std::vector<std::string> names;
  std::ifstream file(path);
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, match, pattern)) names.push_back(match[2]);
  }
  return names;
}

// The sources of the folders that the table names, with how many there are in `count`; "file includes other" for each
// arrow that is not drawn.
std::vector<std::string> forbidden_arrows(const fs::path& root, int* count) {
  std::vector<std::string> found;
  *count = 0;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string file = entry->path().lexically_relative(root).generic_string();
    const bool is_folder = entry->is_directory();
    if (is_folder && (file.starts_with(".") || file.starts_with("build"))) entry.disable_recursion_pending();
    if (is_folder || !is_source(file)) continue;
    ++*count;
    for (const std::string& included : includes_of(entry->path())) {
      if (!is_allowed(file, included)) found.push_back(file + " includes " + included);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Includes, FollowTheArrows) {
  int count = 0;
  for (const std::string& arrow : forbidden_arrows(ASYNCGRAD_SOURCE_DIR, &count)) ADD_FAILURE() << arrow;
  EXPECT_GT(count, 20) << "the sources were not found";
}

// A tree of one-line files, removed at the end.
class MadeUpTree : public testing::Test {
 protected:
  MadeUpTree() { fs::create_directories(root_); }
  ~MadeUpTree() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& include) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "#pragma once\n#include <vector>\n#include \"" << include << "\"\n";
  }
  std::vector<std::string> forbidden() const {
    int count = 0;
    return forbidden_arrows(root_, &count);
  }

 private:
  fs::path root_ = fs::path(testing::TempDir()) /
                   (std::string("asyncgrad_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(MadeUpTree, WithDrawnArrowsPasses) {
  write("core/tensor.h", "asyncgrad/core/shape.h");
  write("autograd/matmul.cpp", "asyncgrad/core/engine/submit.h");
  write("nn/dense.cpp", "asyncgrad/core/engine/origin.h");
  write("optim/sgd.cpp", "asyncgrad/core/kernels.h");
  write("backends/cpu/matmul.cpp", "asyncgrad/core/storage/storage.h");
  write("examples/train.cpp", "asyncgrad/asyncgrad.h");
  write("examples/support/table.cpp", "asyncgrad/examples/support/table.h");
  write("tests/core/engine_test.cpp", "asyncgrad/core/engine/engine.h");
  write("build/release/include/core/anything.h", "asyncgrad/nn/dense.h");
  EXPECT_EQ(forbidden(), std::vector<std::string>{});
}

TEST_F(MadeUpTree, WithOtherArrowsFails) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"asyncgrad.h", "core/kernels.h"},
      {"autograd/matmul.cpp", "nn/dense.h"},
      {"backends/cpu/matmul.cpp", "core/engine/engine.h"},
      {"backends/cpu/relu.cpp", "autograd/elementwise.h"},
      {"backends/cpu/sum.cpp", "backends/cuda/sum.h"},
      {"benchmark/step.cpp", "asyncgrad.h"},  // a folder that the table does not know
      {"core/tensor.cpp", "autograd/node.h"},
      {"examples/digits.cpp", "core/tensor.h"},
      {"examples/support/table.cpp", "core/engine/engine.h"},
      {"nn/dense.cpp", "core/engine/engine.h"},
      {"nn/losses.cpp", "optim/sgd.h"},
      {"optim/sgd.cpp", "core/storage/storage.h"},
      {"tests/readme/layer.cpp", "nn/dense.h"},
  };
  std::vector<std::string> expected;
  for (const auto& [file, included] : bad) {
    write(file, "asyncgrad/" + included);
    expected.push_back(file + " includes " + included);
  }
  EXPECT_EQ(forbidden(), expected);
}

TEST_F(MadeUpTree, WithRelativeIncludesFails) {
  write("core/tensor.cpp", "tensor.h");
  EXPECT_EQ(forbidden(), std::vector<std::string>{"core/tensor.cpp includes tensor.h"});
}

}  // namespace
