#include "asyncgrad/core/file/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::detail {
namespace {

using testing::HasSubstr;
using tests::message_of;

TEST(InputFile, ReadsAnyPart) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.file("a")) << "0123456789";
  const InputFile file("test", folder.file("a"));
  EXPECT_EQ(file.size_bytes(), 10u);
  char part[4] = "";
  file.read(3, part, 3);
  EXPECT_STREQ(part, "345");
  file.read(10, part, 0);
}

TEST(InputFile, ThatBecameShorterIsAnError) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.file("a")) << "0123456789";
  const InputFile file("test", folder.file("a"));
  std::filesystem::resize_file(folder.file("a"), 5);
  char part[8] = "";
  EXPECT_EQ(message_of([&] { file.read(2, part, 7); }),
            "[test] '" + folder.file("a") + "' ends after 5 bytes, 4 too early; write or copy it again");
}

TEST(InputFile, MustBeARegularFile) {
  const tests::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto refusal = [](const std::string& path) { return message_of([&] { InputFile("test", path); }); };
  EXPECT_EQ(refusal(folder.file("none")),
            "[test] cannot read '" + folder.file("none") + "': No such file or directory");
  EXPECT_EQ(refusal(folder.path()), "[test] cannot read '" + folder.path() + "': Is a directory");
  EXPECT_THAT(refusal(folder.file("pipe")), HasSubstr("it is a pipe or another special file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("it is a pipe or another special file"));
}

}  // namespace
}  // namespace asyncgrad::detail
