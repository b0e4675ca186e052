#include "asyncgrad/nn/safetensors/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/nn/safetensors/reference.h"
#include "tests/support/files.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::nn::safetensors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

std::string reference_text() { return {std::begin(reference), std::end(reference)}; }

// The tensors of reference.py.
NamedTensors tensors() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {{"count", Tensor::from<std::int64_t>({(std::int64_t{1} << 53) + 1}, {})},
          {"labels", Tensor::from<std::int64_t>({1, -2, 3, -4}, {2, 2})},
          {"net.0.bias", Tensor::from<float>({0.5F, -0.0F}, {2})},
          {"net.0.weight", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
          {"nothing", zeros({0, 3})},
          {"exact", Tensor::from<double>({0.1, -infinity, 5e-324}, {3})}};
}

class SafetensorsFile : public testing::Test {
 protected:
  const std::string& path() const { return path_; }
  void put(const std::string& content) const { tests::write(path_, content); }
  std::string content() const { return tests::content(path_); }

 private:
  tests::TemporaryFolder folder_;
  std::string path_ = folder_.file("a.safetensors");
};

TEST_F(SafetensorsFile, IsThatOfTheFormatsOwnLibrary) {
  write("test", path(), tensors(), {{"note", "a \"quoted\" text, ä"}});
  EXPECT_EQ(content(), reference_text());
}

TEST_F(SafetensorsFile, OfTheFormatsOwnLibraryIsRead) {
  put(reference_text());
  const Reader reader("test", path());
  EXPECT_EQ(reader.header().metadata.at("note"), "a \"quoted\" text, ä");
  std::vector<std::string> read;
  for (const auto& [name, expected] : tensors()) {
    for (const TensorEntry& entry : reader.header().tensors) {
      if (entry.name != name) continue;
      read.push_back(name);
      const Tensor tensor = reader.read(entry, expected.dtype(), "cpu");
      EXPECT_EQ(tensor.shape(), expected.shape());
      EXPECT_EQ(tensor.dtype(), expected.dtype());
      EXPECT_EQ(tensor.str(), expected.str());
    }
  }
  EXPECT_THAT(read, ElementsAre("count", "labels", "net.0.bias", "net.0.weight", "nothing", "exact"));
}

TEST_F(SafetensorsFile, CutAnywhereIsRefused) {
  const std::string whole = reference_text();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    EXPECT_THAT(message_of([&] { Reader("test", path()); }), testing::StartsWith("[test] '" + path() + "' ")) << size;
  }
  put(whole + '\0');
  EXPECT_THAT(message_of([&] { Reader("test", path()); }), HasSubstr("has 97 bytes of values"));
}

// Nothing is allocated for a length that the file does not have.
TEST_F(SafetensorsFile, WithABadLengthIsRefused) {
  put("");
  EXPECT_THAT(message_of([&] { Reader("test", path()); }), HasSubstr("is no safetensors file: it has 0 bytes"));
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{1} << 62, ~std::uint64_t{0}, most_header_bytes}) {
    put(std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
    EXPECT_THAT(message_of([&] { Reader("test", path()); }),
                HasSubstr("its header would have " + std::to_string(length) + " bytes, where 2 are left"));
  }
}

}  // namespace
}  // namespace asyncgrad::nn::safetensors
