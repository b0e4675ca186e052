// Fails on an #include from one folder of another that the rules below do not allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

// The folders that files below `from` may include besides their own. The first row whose `from` begins a path applies
// to it. Folders end in '/'; all names are relative to the root of the tree, as in "asyncgrad/core/tensor.h".
struct Arrow {
  std::string_view from;
  std::vector<std::string_view> public_headers_of;  // what asyncgrad.h and experiment.h include, directly or not
  std::vector<std::string_view> all_of;             // internal headers, too
};
const std::string_view below_engine = "below the engine";  // stands for these:
const std::vector<std::string_view> folders_below_engine = {"core/sync/",          "core/origin/", "core/backend/",
                                                            "core/profile/",       "core/memory/", "core/tensor_impl.h",
                                                            "core/engine/submit.h"};
// Stands for what every kernel of the CPU may see:
const std::string_view headers_for_kernels = "shared headers of kernels";
const std::vector<std::string_view> headers_of_kernels = {"backends/broadcast.h",
                                                          "backends/conv_extents.h",
                                                          "backends/divided.h",
                                                          "backends/element_types.h",
                                                          "backends/floored_division.h",
                                                          "backends/integer_math.h",
                                                          "backends/pool_plane.h",
                                                          "backends/random_below.h",
                                                          "backends/range.h",
                                                          "backends/recurrent_operands.h",
                                                          "backends/strided_axes.h",
                                                          "core/backend/custom_kernel.h",
                                                          "core/backend/exit_order.h",
                                                          "core/backend/kernels.h",
                                                          "core/backend/backend.h",
                                                          "core/backend/place_table.h",
                                                          "core/backend/round_up.h",
                                                          "core/backend/sort_order.h",
                                                          "core/backend/wrapping_sum.h",
                                                          "core/backend/attributes/",
                                                          "core/backend/formulas.h",
                                                          "core/checks.h",
                                                          "core/random.h",
                                                          "core/sync/",
                                                          "backends/cpu/families.h",
                                                          "backends/cpu/dispatch.h",
                                                          "backends/cpu/highway_targets.h",
                                                          "backends/cpu/tiling.h"};
const std::string_view everything;  // begins every path
const std::vector<Arrow> arrows = {
    // Within core, includes go down only: sync, origin, backend, profile and memory lie below the engine.
    // docs/engine.md shows the engine's folders.
    {"core/sync/", {"core/"}, {}},
    {"core/origin/", {"core/"}, {"core/sync/"}},
    {"core/backend/", {"core/"}, {"core/origin/", "core/memory/memory_source.h"}},
    {"core/file/", {"core/"}, {}},
    {"core/profile/", {"core/"}, {"core/backend/", "core/origin/", "core/sync/"}},
    {"core/memory/", {"core/"}, {"core/profile/", "core/backend/", "core/origin/", "core/sync/"}},
    {"core/engine/ring/", {"core/"}, {below_engine}},
    {"core/engine/admission/", {"core/"}, {below_engine, "core/engine/ring/"}},
    {"core/engine/run/", {"core/"}, {below_engine, "core/engine/ring/", "core/engine/admission/"}},
    {"core/engine/threads/", {"core/"}, {below_engine, "core/engine/ring/"}},
    {"core/engine/schedule/",
     {"core/"},
     {below_engine, "core/engine/ring/", "core/engine/admission/", "core/engine/run/", "core/engine/threads/"}},
    {"core/engine/device/",
     {"core/"},
     {below_engine, "core/engine/ring/", "core/engine/admission/", "core/engine/run/", "core/engine/threads/",
      "core/engine/schedule/"}},
    {"core/engine/front_end/",
     {"core/"},
     {below_engine, "core/engine/ring/", "core/engine/admission/", "core/engine/run/", "core/engine/threads/",
      "core/engine/schedule/"}},
    {"core/engine/life/",
     {"core/"},
     {below_engine, "core/engine/ring/", "core/engine/admission/", "core/engine/run/", "core/engine/threads/",
      "core/engine/schedule/", "core/engine/device/", "core/engine/front_end/", "core/wording.h"}},
    {"core/", {}, {}},
    // Within autograd, the public headers are the folder's own files. The tape lies below what programs bring of their
    // own and below the forms in which kernels take operands, and these below the operations, of which the elementwise
    // ones serve all others.
    {"autograd/budget/", {"autograd/"}, {"core/"}},
    {"autograd/tape/", {"autograd/"}, {"core/", "autograd/budget/"}},
    {"autograd/own/", {"autograd/"}, {"core/", "autograd/tape/"}},
    {"autograd/forms/", {"autograd/"}, {"core/", "autograd/tape/"}},
    {"autograd/elementwise/", {"autograd/"}, {"core/", "autograd/tape/", "autograd/forms/"}},
    {"autograd/shapes/", {"autograd/"}, {"core/", "autograd/tape/", "autograd/forms/", "autograd/elementwise/"}},
    {"autograd/reductions/", {"autograd/"}, {"core/", "autograd/tape/", "autograd/forms/", "autograd/elementwise/"}},
    {"autograd/networks/", {"autograd/"}, {"core/", "autograd/tape/", "autograd/forms/", "autograd/elementwise/"}},
    {"autograd/", {"core/"}, {}},
    // Layers and optimisers are written as a user could write them, except for checks of numbers and of windows, the steps
    // of a recurrent layer, gradients that are kept by rows and the one operation that updates many tensors.
    {"nn/safetensors/", {"autograd/", "core/"}, {"autograd/own/sink.h", "core/file/", "core/sync/"}},
    {"nn/",
     {"autograd/", "core/"},
     {"autograd/networks/recurrent.h", "autograd/networks/windows.h", "autograd/shapes/look_up.h", "core/checks.h",
      "core/warn.h", "core/wording.h"}},
    {"data/", {"autograd/", "core/", "nn/"}, {"core/checks.h"}},
    {"optim/",
     {"autograd/", "core/", "nn/members.h"},
     {"autograd/tape/update.h", "core/checks.h", "core/warn.h", "core/backend/attributes/update.h"}},
    {"dist/mpi/", {}, {"dist/transport.h"}},
    {"dist/",
     {"autograd/", "core/", "data/", "nn/", "optim/"},
     {"autograd/tape/leaf.h", "autograd/tape/operands.h", "autograd/tape/row_gradient.h", "autograd/tape/update.h",
      "core/backend/attributes/collective.h", "core/backend/exit_order.h", "core/backend/instruction_sets.h",
      "core/backend/kernels.h", "core/backend/wrapping_sum.h", "core/checks.h", "core/engine/submit.h", "core/fnv1a.h",
      "core/memory/abandoned.h", "core/origin/", "core/shared_generator.h", "core/sync/", "core/tensor_impl.h",
      "core/wording.h"}},
    // Folders of kernels do not see each other, except for vectors and products.
    {"backends/cpu/vectors/", {"core/"}, {headers_for_kernels}},
    {"backends/cpu/products/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/copies/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/random/", {"core/"}, {headers_for_kernels}},
    {"backends/cpu/elementwise/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/updates/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/rows/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/normalisation/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/sequences/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/", "backends/cpu/products/"}},
    {"backends/cpu/windows/", {"core/"}, {headers_for_kernels, "backends/cpu/vectors/"}},
    {"backends/cpu/",
     {"core/"},
     {headers_for_kernels, "backends/cpu/products/onednn.h", "core/backend/instruction_sets.h"}},
    {"backends/cuda/",
     {"core/"},
     {headers_for_kernels, "core/backend/attributes/", "core/backend/device_queue.h", "core/backend/formulas.h",
      "core/backend/late_call.h", "core/memory/memory_source.h", "core/random.h", "core/origin/launch_region.h",
      "core/sync/"}},
    {"backends/", {"core/"}, {"core/backend/kernels.h"}},  // make_backend, which knows every backend below it
    {"experiment/",
     {"core/", "nn/", "optim/"},
     {"core/file/", "core/fnv1a.h", "nn/listed_members.h", "nn/safetensors/file.h", "nn/value_text.h"}},
    {"python/src/",
     {everything},
     {"array_checks.h",
      "arrays.h",
      "batches.h",
      "call.h",
      "callbacks.h",
      "conversion.h",
      "custom.h",
      "dropped_objects.h",
      "dtypes.h",
      "errors.h",
      "exports.h",
      "functions.h",
      "indexing.h",
      "initialisers.h",
      "layer.h",
      "location.h",
      "members.h",
      "nb.h",
      "operators.h",
      "module.h",
      "python_object.h",
      "rows.h",
      "tensor_classes.h",
      "tensor.h",
      "thread_end.h",
      "values.h",
      "waits.h",
      "autograd/own/own_gradients.h",
      "core/checks.h",
      "core/shared_generator.h",
      "core/sync/",
      "core/wording.h",
      "nn/safetensors/file.h",
      "nn/value_text.h",
      "experiment/"}},
    {"python/tests/", {"asyncgrad.h"}, {}},
    {"examples/support/", {everything}, {"experiment/", "core/file/"}},
    {"examples/", {everything}, {}},
    {"benchmarks/", {}, {everything}},
    {"tests/package/", {"asyncgrad.h", "experiment.h"}, {}},
    {"tests/readme/", {"asyncgrad.h"}, {}},
    {"tests/", {}, {everything}},
    {"asyncgrad.h", {"core/", "autograd/", "nn/", "optim/", "data/", "dist/"}, {}},
    {"experiment.h", {"experiment/"}, {}},
};
const std::vector<std::string_view> never_public = {
    "core/memory/",          "core/engine/",       "core/backend/",   "core/origin/",        "core/sync/",
    "core/profile/",         "core/tensor_impl.h", "autograd/tape/",  "autograd/own/",       "autograd/forms/",
    "autograd/elementwise/", "core/file/",         "nn/safetensors/", "dist/communicator.h", "dist/transport.h"};

bool begins_with_any(std::string_view path, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return path.starts_with(beginning); });
}

bool is_allowed(std::string_view file, const std::string& included, const std::set<std::string>& public_headers) {
  const auto arrow =
      std::find_if(arrows.begin(), arrows.end(), [&](const Arrow& row) { return file.starts_with(row.from); });
  if (arrow == arrows.end()) return false;
  const auto may_see = [&](std::string_view group, const std::vector<std::string_view>& members) {
    return std::ranges::find(arrow->all_of, group) != arrow->all_of.end() && begins_with_any(included, members);
  };
  return included.starts_with(arrow->from) || begins_with_any(included, arrow->all_of) ||
         may_see(below_engine, folders_below_engine) || may_see(headers_for_kernels, headers_of_kernels) ||
         (public_headers.contains(included) && begins_with_any(included, arrow->public_headers_of));
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

// asyncgrad.h, experiment.h, and the files that they include, directly or not.
std::set<std::string> public_headers(const fs::path& root) {
  std::set<std::string> found;
  std::vector<std::string> unread = {"asyncgrad.h", "experiment.h"};
  while (!unread.empty()) {
    const std::string header = unread.back();
    unread.pop_back();
    if (!found.insert(header).second) continue;
    for (const std::string& included : includes_of(root / header)) unread.push_back(included);
  }
  return found;
}

// The sources below `root`, relative to it.
std::vector<std::string> sources(const fs::path& root) {
  std::vector<std::string> found;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string file = entry->path().lexically_relative(root).generic_string();
    if (entry->is_directory() && (file.starts_with(".") || file.starts_with("build") || file == "include"))
      entry.disable_recursion_pending();
    if (!entry->is_directory() && is_source(file)) found.push_back(file);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// "file includes other" for each include that is not allowed.
std::vector<std::string> forbidden_arrows(const fs::path& root) {
  const std::set<std::string> headers = public_headers(root);
  std::vector<std::string> found;
  for (const std::string& file : sources(root)) {
    for (const std::string& included : includes_of(root / file)) {
      if (!is_allowed(file, included, headers)) found.push_back(file + " includes " + included);
    }
  }
  return found;
}

TEST(Includes, FollowTheArrows) {
  EXPECT_GT(sources(ASYNCGRAD_SOURCE_DIR).size(), 20U) << "the sources were not found";
  for (const std::string& arrow : forbidden_arrows(ASYNCGRAD_SOURCE_DIR)) ADD_FAILURE() << arrow;
}

TEST(Includes, LeadFromPublicHeadersToNothingInternal) {
  const std::set<std::string> headers = public_headers(ASYNCGRAD_SOURCE_DIR);
  EXPECT_TRUE(headers.contains("core/tensor.h"));
  for (const std::string& header : headers) EXPECT_FALSE(begins_with_any(header, never_public)) << header;
}

// A tree of one-line files, removed at the end.
class MadeUpTree : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& include) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "#pragma once\n#include <vector>\n#include \"" << include << "\"\n";
  }
  std::vector<std::string> forbidden() const { return forbidden_arrows(root_); }

 private:
  asyncgrad::tests::TemporaryFolder folder_;
  fs::path root_ = folder_.path();
};

TEST_F(MadeUpTree, WithDrawnArrowsPasses) {
  write("asyncgrad.h", "asyncgrad/core/tensor.h");
  write("core/tensor.h", "asyncgrad/core/shape.h");
  write("autograd/networks/matmul.cpp", "asyncgrad/core/engine/submit.h");
  write("autograd/shapes/join.cpp", "asyncgrad/autograd/tape/node.h");
  write("nn/dense.cpp", "asyncgrad/core/tensor.h");
  write("optim/sgd.cpp", "asyncgrad/autograd/tape/update.h");
  write("dist/collectives.cpp", "asyncgrad/autograd/tape/update.h");
  write("backends/cpu/products/matmul.cpp", "asyncgrad/core/backend/kernels.h");
  write("backends/cpu/windows/conv.cpp", "asyncgrad/backends/cpu/vectors/transpose-inl.h");
  write("examples/train.cpp", "asyncgrad/asyncgrad.h");
  write("experiment.h", "asyncgrad/experiment/main.h");
  write("experiment/main.h", "asyncgrad/core/tensor.h");
  write("experiment/table.cpp", "asyncgrad/experiment/table.h");
  write("examples/compare.cpp", "asyncgrad/experiment.h");
  write("examples/support/table.h", "asyncgrad/core/shape.h");
  write("examples/digits.cpp", "examples/support/table.h");
  write("tests/core/engine_test.cpp", "asyncgrad/core/engine/engine.h");
  write("build/release/include/core/anything.h", "asyncgrad/nn/dense.h");
  EXPECT_EQ(forbidden(), std::vector<std::string>{});
}

TEST_F(MadeUpTree, WithOtherArrowsFails) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"asyncgrad.h", "experiment/main.h"},
      {"autograd/forms/parts.h", "autograd/elementwise/apply.h"},
      {"autograd/networks/matmul.cpp", "nn/dense.h"},
      {"autograd/tape/node.cpp", "autograd/forms/parts.h"},
      {"backends/cpu/elementwise/relu.cpp", "autograd/elementwise.h"},
      {"backends/cpu/products/matmul.cpp", "core/engine/engine.h"},
      {"backends/cpu/products/product.cpp", "backends/cpu/windows/conv_field.h"},
      {"backends/cpu/rows/softmax.cpp", "core/memory/storage.h"},
      {"backends/cpu/rows/sum.cpp", "backends/cuda/sum.h"},
      {"benchmark/step.cpp", "asyncgrad.h"},  // a folder that the table does not know
      {"core/backend/kernels.cpp", "core/memory/storage.h"},
      {"core/memory/storage.cpp", "core/engine/engine.h"},
      {"core/origin/origin.cpp", "core/engine/submit.h"},
      {"core/profile/profile.cpp", "core/memory/allocator.h"},
      {"core/scalar.cpp", "experiment/main.h"},
      {"core/sync/spin_lock.h", "core/origin/origin.h"},
      {"core/tensor.cpp", "autograd/tape/node.h"},
      {"dist/collectives.cpp", "core/engine/engine.h"},
      {"examples/barriers.cpp", "experiment/print.h"},
      {"examples/digits.cpp", "core/tensor_impl.h"},
      {"examples/support/table.cpp", "core/engine/engine.h"},
      {"experiment/table.cpp", "core/engine/engine.h"},
      {"experiment/train.cpp", "autograd/networks/matmul.h"},
      {"nn/dense.cpp", "autograd/tape/update.h"},
      {"nn/losses.cpp", "optim/sgd.h"},
      {"nn/sequential.cpp", "core/origin/origin.h"},
      {"optim/adam.cpp", "core/memory/storage.h"},
      {"optim/sgd.cpp", "core/backend/kernels.h"},
      {"tests/readme/layer.cpp", "core/tensor.h"},
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
