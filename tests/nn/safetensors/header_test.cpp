#include "asyncgrad/nn/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/support/message_of.h"

namespace asyncgrad::nn::safetensors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using tests::message_of;

const detail::FileName file{"test", "name"};

std::string refusal(const std::string& text, std::uint64_t data_bytes = 0) {
  return message_of([&] { parse_header(text, data_bytes, file); });
}
constexpr const char* passed = "nothing was thrown";

// A tensor of the header.
std::string tensor(const std::string& name, const std::string& type, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}
std::string one(const std::string& type, const std::string& shape, const std::string& offsets) {
  return "{" + tensor("a", type, shape, offsets) + "}";
}

TEST(SafetensorsHeader, NamesTensorsAndTheirPlaces) {
  const Header header = parse_header(&R"( {"b": {"shape": [2, 3], "data_offsets": [8, 32], "dtype": "F32"},
           "__metadata__": {"x": "y", "z": ""},
           "a": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}  )"[1],
                                     32, file);
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].type, "I64");
  EXPECT_EQ(header.tensors[0].shape(), "()");
  EXPECT_EQ(header.tensors[1].name, "b");
  EXPECT_THAT(header.tensors[1].extents, ElementsAre(2, 3));
  EXPECT_EQ(header.tensors[1].begin_byte, 8u);
  EXPECT_EQ(header.tensors[1].end_byte, 32u);
  EXPECT_THAT(header.metadata, ElementsAre(Pair("x", "y"), Pair("z", "")));
}

TEST(SafetensorsHeader, MayBeEmpty) {
  EXPECT_EQ(refusal("{}"), passed);
  EXPECT_EQ(refusal(R"({"__metadata__":{}})"), passed);
}

// The sizes of the format's types are known even where this library has no such type.
TEST(SafetensorsHeader, KnowsEveryTypeOfTheFormat) {
  for (const char* type : {"BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"})
    EXPECT_EQ(refusal(one(type, "8", "0,8"), 8), passed);
  for (const char* type : {"I16", "U16", "F16", "BF16"}) EXPECT_EQ(refusal(one(type, "8", "0,16"), 16), passed);
  for (const char* type : {"I32", "U32", "F32"}) EXPECT_EQ(refusal(one(type, "8", "0,32"), 32), passed);
  for (const char* type : {"I64", "U64", "F64", "C64"}) EXPECT_EQ(refusal(one(type, "8", "0,64"), 64), passed);
  EXPECT_EQ(refusal(one("F4", "8", "0,4"), 4), passed);
  EXPECT_EQ(refusal(one("F6_E2M3", "8", "0,6"), 6), passed);
  EXPECT_THAT(refusal(one("F4", "3", "0,1"), 1), HasSubstr("end within a byte"));
  EXPECT_THAT(refusal(one("F128", "8", "0,128"), 128), HasSubstr("the unknown type \"F128\""));
}

TEST(SafetensorsHeader, IsJson) {
  EXPECT_THAT(refusal(""), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(refusal(" {}"), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(refusal("\xef\xbb\xbf{}"), HasSubstr("does not begin with '{'"));
  for (const char* text : {"{", "{}x", "{}{}", "{\"a\"", "{\"a\":", "{\"a\":}", "{,}", "{\"a\":{},}", "{'a':{}}",
                           "{\"\xff\":{}}", "{\"\n\":{}}", "{\"\\ud800\":{}}", "{/**/}"}) {
    EXPECT_THAT(refusal(text), StartsWith("[test] 'name' has a bad safetensors header")) << text;
  }
  EXPECT_THAT(refusal(one("F32", "01", "0,4"), 4), HasSubstr("is not JSON at byte"));
  EXPECT_THAT(refusal(std::string("{}\0more", 7)), HasSubstr("has a zero at byte 2"));
}

TEST(SafetensorsHeader, HasNothingButTensorsAndMetadata) {
  EXPECT_THAT(refusal(R"({"a":1})"), HasSubstr("has the number 1 for \"a\" instead of an object"));
  EXPECT_THAT(refusal(R"({"a":"b"})"), HasSubstr("has \"b\" for \"a\" instead of an object"));
  EXPECT_THAT(refusal(R"({"a":[]})"), HasSubstr("has an array for \"a\""));
  EXPECT_THAT(refusal(R"({"a":null})"), HasSubstr("has null for \"a\""));
  EXPECT_THAT(refusal(R"({"a":true})"), HasSubstr("has a truth value for \"a\""));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})"), HasSubstr("the number 1 in the metadata for \"a\""));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":{}}})"), HasSubstr("an object in the metadata for \"a\""));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"more":"x"}})", 4),
              HasSubstr("\"x\" in the field \"more\" of tensor \"a\""));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"more":{}}})", 4),
              HasSubstr("an object in the field \"more\""));
}

// The parser of JSON needs one bit for a level, and the second wrong level is refused.
TEST(SafetensorsHeader, IsNotDeep) {
  std::string objects, arrays(1'000'000, '[');
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(refusal(objects), HasSubstr("an object in the field \"a\""));
  EXPECT_THAT(refusal("{\"a\":" + arrays), HasSubstr("an array for \"a\""));
  EXPECT_THAT(refusal("{\"a\":{\"shape\":" + arrays), HasSubstr("an array in the field \"shape\""));
}

TEST(SafetensorsHeader, HasEveryNameOnce) {
  const std::string a = tensor("a", "F32", "", "0,4"), b = tensor("a", "F32", "", "4,8");
  EXPECT_THAT(refusal("{" + a + "," + b + "}", 8), HasSubstr("has \"a\" twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{},"__metadata__":{}})"), HasSubstr("has \"__metadata__\" twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"x":"1","x":"2"}})"), HasSubstr("the metadata has \"x\" twice"));
  for (const char* fields : {R"("dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4])",
                             R"("dtype":"F32","shape":[],"shape":[],"data_offsets":[0,4])",
                             R"("dtype":"F32","shape":[],"data_offsets":[0,4],"data_offsets":[0,4])"}) {
    EXPECT_THAT(refusal(std::string("{\"a\":{") + fields + "}}", 4), HasSubstr("or that field twice")) << fields;
  }
}

TEST(SafetensorsHeader, HasEveryField) {
  EXPECT_THAT(refusal(R"({"a":{}})"), HasSubstr("lacks the field dtype of tensor \"a\""));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), HasSubstr("lacks the field shape"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[]}})"), HasSubstr("lacks the field data_offsets"));
}

TEST(SafetensorsHeader, HasWholeNumbersThatFit) {
  EXPECT_THAT(refusal(one("F32", "-1", "0,4"), 4), HasSubstr("the number -1 in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "1.0", "0,4"), 4), HasSubstr("the number 1.0 in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "1e0", "0,4"), 4), HasSubstr("the number 1e0 in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "18446744073709551617", "0,4"), 4), HasSubstr("in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "1e999", "0,4"), 4), HasSubstr("is not JSON"));
  EXPECT_THAT(refusal(one("F32", "\"1\"", "0,4"), 4), HasSubstr("\"1\" in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "null", "0,4"), 4), HasSubstr("null in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "1", "0"), 4), HasSubstr("1 numbers in the field \"data_offsets\""));
  std::string many = "1";
  for (int i = 1; i < 64; ++i) many += ",1";
  EXPECT_EQ(refusal(one("F32", many, "0,4"), 4), passed);
  EXPECT_THAT(refusal(one("F32", many + ",1", "0,4"), 4), HasSubstr("more than 64 numbers in the field \"shape\""));
  EXPECT_THAT(refusal(one("F32", "1", "0,4,8"), 4), HasSubstr("3 numbers in the field \"data_offsets\""));
}

TEST(SafetensorsHeader, HasShapesThatDoNotOverflow) {
  EXPECT_THAT(refusal(one("F32", "4294967296,4294967296", "0,0")),
              HasSubstr("(4294967296, 4294967296) elements, more than"));
  EXPECT_THAT(refusal(one("F32", "18446744073709551615,18446744073709551615", "0,4"), 4), HasSubstr("more than 2^64"));
  EXPECT_THAT(refusal(one("F64", "2305843009213693952", "0,0")), HasSubstr("more than 2^64 bits"));
  EXPECT_EQ(refusal(one("F64", "4294967296,0,4294967296,4294967296", "0,0")), passed);
}

TEST(SafetensorsHeader, GivesEveryTensorItsSize) {
  EXPECT_EQ(refusal(one("F32", "2,3", "0,24"), 24), passed);
  EXPECT_THAT(refusal(one("F32", "2,3", "0,20"), 20), HasSubstr("gives tensor \"a\", F32 (2, 3), 20 bytes"));
  EXPECT_THAT(refusal(one("F32", "0", "0,4"), 4), HasSubstr("4 bytes"));
  EXPECT_THAT(refusal(one("F32", "2,3", "24,0"), 24), HasSubstr("end at byte 0 before it begins at 24"));
}

TEST(SafetensorsHeader, DescribesEveryByteOnce) {
  const auto two = [](const std::string& first, const std::string& second) {
    return "{" + tensor("a", "F32", "2", first) + "," + tensor("b", "F32", "2", second) + "}";
  };
  EXPECT_EQ(refusal(two("0,8", "8,16"), 16), passed);
  EXPECT_EQ(refusal(two("8,16", "0,8"), 16), passed);
  EXPECT_THAT(refusal(two("0,8", "4,12"), 12),
              HasSubstr("tensor \"b\" begins at byte 4, and the one before ends at 8"));
  EXPECT_THAT(refusal(two("0,8", "0,8"), 8), HasSubstr("begins at byte 0, and the one before ends at 8"));
  EXPECT_THAT(refusal(two("0,8", "12,20"), 20), HasSubstr("begins at byte 12, and the one before ends at 8"));
  EXPECT_THAT(refusal(two("4,12", "12,20"), 20), HasSubstr("begins at byte 4, and the one before ends at 0"));
  EXPECT_THAT(refusal(two("0,8", "8,16"), 17), HasSubstr("has 17 bytes of values; its safetensors header wants 16"));
  EXPECT_THAT(refusal(two("0,8", "8,16"), 15), HasSubstr("has 15 bytes of values; its safetensors header wants 16"));
  EXPECT_THAT(refusal("{}", 1), HasSubstr("has 1 bytes of values"));
  // Tensors without elements lie anywhere between others, but not beyond the end.
  EXPECT_EQ(refusal("{" + tensor("a", "F32", "0", "8,8") + "," + tensor("b", "F32", "2", "0,8") + "}", 8), passed);
  EXPECT_THAT(refusal(one("F32", "0", "8,8"), 8), HasSubstr("begins at byte 8"));
}

TEST(SafetensorsHeader, IsQuotedWithoutItsControlCharacters) {
  const std::string message = refusal("{\"\\u001b[2J\\n" + std::string(1000, 'x') + "\":1}");
  EXPECT_THAT(message, HasSubstr("\"\\u001b[2J\\nxxx"));
  EXPECT_LT(message.size(), 400u);
  EXPECT_EQ(in_quotes("\xff"), "\"\\ufffd\"");
  // The text is cut in the middle of a character.
  EXPECT_THAT(in_quotes(std::string(199, 'x') + "ä"), HasSubstr("\\ufffd"));
}

TEST(SafetensorsHeader, IsWrittenAsItIsRead) {
  const Header header{.tensors = {{.name = "a\"\n.ä", .type = "F64", .extents = {}, .begin_byte = 0, .end_byte = 8},
                                  {.name = "", .type = "F32", .extents = {2, 0}, .begin_byte = 8, .end_byte = 8}},
                      .metadata = {{"k\x01", "v"}, {"", ""}}};
  const std::string text = header_text(header, file);
  std::uint64_t size = 0;
  std::memcpy(&size, text.data(), 8);
  EXPECT_EQ(size, text.size() - 8);
  EXPECT_EQ(size % 8, 0u);
  const Header read = parse_header(text.substr(8), 8, file);
  EXPECT_EQ(read.metadata, header.metadata);
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, header.tensors[0].name);
  EXPECT_EQ(read.tensors[1].extents, header.tensors[1].extents);
}

TEST(SafetensorsHeader, IsWrittenInUtf8Alone) {
  EXPECT_EQ(message_of([] {
              header_text({.tensors = {}, .metadata = {{"a", "\xff"}}}, file);
            }),
            "[test] 'name' cannot hold the text \"\\ufffd\", which is not UTF-8");
}

TEST(SafetensorsHeader, IsWrittenWithNamesThatCanBeRead) {
  const auto refusal = [](const std::string& first, const std::string& second) {
    Header header;
    for (const std::string& name : {first, second}) {
      header.tensors.push_back({.name = name, .type = "F32", .extents = {0}, .begin_byte = 0, .end_byte = 0});
    }
    return message_of([&] { header_text(header, file); });
  };
  EXPECT_EQ(refusal("a", "a"), "[test] 'name' cannot hold two tensors of the name \"a\"");
  EXPECT_EQ(refusal("a", "__metadata__"),
            "[test] 'name' cannot hold a tensor of the name \"__metadata__\", which the format uses itself");
  EXPECT_EQ(refusal("a", "b"), "nothing was thrown");
}

}  // namespace
}  // namespace asyncgrad::nn::safetensors
