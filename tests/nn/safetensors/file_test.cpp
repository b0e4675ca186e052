#include "asyncgrad/nn/safetensors/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
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
      const Tensor tensor = reader.read(entry, "cpu");
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
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{1} << 62, ~std::uint64_t{0}, max_header_bytes}) {
    put(std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
    EXPECT_THAT(message_of([&] { Reader("test", path()); }),
                HasSubstr("its header would have " + std::to_string(length) + " bytes, where 2 are left"));
  }
}

// The bits of each type whose values another type has.
TEST(NarrowTypes, AreHeldInWiderOnes) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.file("narrow");
  const auto read = [&](const std::string& type, const std::string& bytes, std::size_t count) {
    const std::string text =
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", type, count, bytes.size());
    const std::uint64_t size = text.size();
    std::string length(8, '\0');
    std::memcpy(length.data(), &size, length.size());
    std::ofstream(path, std::ios::binary) << length << text << bytes;
    const Reader reader("load", path);
    return reader.read(reader.header().tensors.at(0), "cpu");
  };
  using namespace std::string_literals;
  // 1, -2, the largest, the least normal, the two least, -0, infinity, a NaN.
  const std::string halves = "\x00\x3c\x00\xc0\xff\x7b\x00\x04\x02\x00\x01\x80\x00\x80\x00\x7c\x01\x7e"s;
  const std::vector<float> numbers = read("F16", halves, 9).to_vector<float>();
  EXPECT_EQ(std::vector<float>(numbers.begin(), numbers.begin() + 8),
            (std::vector<float>{1, -2, 65504, 0x1p-14F, 0x1p-23F, -0x1p-24F, -0.0F, INFINITY}));
  EXPECT_TRUE(std::signbit(numbers[6]) && std::isnan(numbers[8]));
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(read("I8", "\x80\x7f"s, 2).to_vector<std::int64_t>(), (Integers{-128, 127}));
  EXPECT_EQ(read("I16", "\x00\x80\xff\x7f"s, 2).to_vector<std::int64_t>(), (Integers{-32768, 32767}));
  EXPECT_EQ(read("U16", "\xff\xff"s, 1).to_vector<std::int64_t>(), Integers{65535});
  EXPECT_EQ(read("U32", "\xff\xff\xff\xff"s, 1).to_vector<std::int64_t>(), Integers{4294967295});
  EXPECT_EQ(read("F16", "", 0).shape(), Shape({0}));
  for (const char* type : {"U64", "C64", "F8_E4M3", "F4", ""}) EXPECT_FALSE(held_type(type).has_value()) << type;
}

// All 65,536 halves, beside their definition.
TEST(NarrowTypes, EveryHalfIsRead) {
  const tests::TemporaryFolder folder;
  std::string bytes;
  for (int bits = 0; bits < 0x10000; ++bits) bytes += {static_cast<char>(bits & 255), static_cast<char>(bits >> 8)};
  const std::string text = R"({"x":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}})";
  std::ofstream(folder.file("all"), std::ios::binary)
      << static_cast<char>(text.size()) << std::string(7, '\0') << text << bytes;
  const Reader reader("load", folder.file("all"));
  const std::vector<float> found = reader.read(reader.header().tensors.at(0), "cpu").to_vector<float>();
  for (int bits = 0; bits < 0x10000; ++bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31) continue;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(found[static_cast<std::size_t>(bits)], (bits & 0x8000) != 0 ? -magnitude : magnitude) << bits;
  }
}

}  // namespace
}  // namespace asyncgrad::nn::safetensors
