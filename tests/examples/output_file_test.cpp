#include "examples/support/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/examples/files.h"
#include "tests/support/limited_files.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace support {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

template <class Call>
std::string file_error(Call&& call) {
  return asyncgrad::tests::what_of<FileError>(call);
}

class OutputFile : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  // Expects that no other files are there than those of the test.
  void expect_files(long number) const { EXPECT_EQ(number_of_files(folder_.path()), number); }

  asyncgrad::tests::TemporaryFolder folder_;
};

TEST_F(OutputFile, IsReplacedAsAWholeAndKeepsItsRights) {
  write(file("a"), "old and long");
  chmod(file("a").c_str(), 0640);
  replace_file(file("a"), "new");
  EXPECT_EQ(content(file("a")), "new");
  EXPECT_EQ(fs::status(file("a")).permissions(), fs::perms(0640));
  replace_file(file("b"), "made");
  EXPECT_EQ(content(file("b")), "made");
  expect_files(2);
}

TEST_F(OutputFile, StaysAsItWasUntilTheNewOneIsCommitted) {
  write(file("a"), "old");
  {
    const Replacement dropped(file("a"));
    write(dropped.path(), "new");
    EXPECT_EQ(content(file("a")), "old");
  }
  EXPECT_EQ(content(file("a")), "old");
  expect_files(1);
}

TEST_F(OutputFile, StaysAsItWasWhereTheNewOneDoesNotFit) {
  write(file("a"), "old");
  std::string error;
  {
    const asyncgrad::tests::LimitedFiles limited(1000);
    error = file_error([&] { replace_file(file("a"), std::string(2000, 'x')); });
  }
  EXPECT_EQ(error, "'" + file("a") + "' cannot be written: File too large");
  EXPECT_EQ(content(file("a")), "old");
  expect_files(1);
}

TEST_F(OutputFile, ALinkStaysALink) {
  write(file("a"), "old");
  fs::create_symlink("a", file("link"));
  fs::create_symlink("b", file("link_to_nothing"));
  replace_file(file("link"), "new");
  replace_file(file("link_to_nothing"), "made");
  EXPECT_EQ(content(file("a")), "new");
  EXPECT_EQ(content(file("b")), "made");
  EXPECT_TRUE(fs::is_symlink(file("link")) && fs::is_symlink(file("link_to_nothing")));
}

TEST_F(OutputFile, DevicesAreWrittenDirectly) {
  replace_file("/dev/null", "lost");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(file_error([] { replace_file("/dev/full", "lost"); }),
            "'/dev/full' cannot be written: No space left on device");
}

TEST_F(OutputFile, WhatCannotBeReplacedIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  fs::create_symlink("circle", file("circle"));
  const auto refusal = [&](const std::string& name) { return file_error([&] { Replacement{file(name)}; }); };
  EXPECT_THAT(refusal("pipe"), HasSubstr("it is a pipe or another special file"));
  EXPECT_THAT(refusal("circle"), HasSubstr("symbolic links"));
  EXPECT_THAT(refusal("."), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal("no/such/folder"), HasSubstr("No such file or directory"));
  EXPECT_THAT(file_error([] { Replacement{""}; }), StartsWith("'' cannot be written: "));
  expect_files(2);
}

TEST_F(OutputFile, WhereOnlyTheLastStepFailsTheNewContentIsKept) {
  Replacement replacement(file("a"));
  write(replacement.path(), "new");
  fs::create_directories(file("a/b"));  // a folder that is not empty has taken the place
  const std::string error = file_error([&] { replacement.commit(); });
  EXPECT_THAT(error, HasSubstr("the new content is in '" + replacement.path() + "'"));
  EXPECT_EQ(content(replacement.path()), "new");
}

TEST_F(OutputFile, TemporaryFilesHaveNamesThatNobodyForeseesAndDisappear) {
  std::string first, second;
  {
    const TemporaryFile one, two;
    first = one.path();
    second = two.path();
    EXPECT_NE(first, second);
    EXPECT_EQ(fs::status(first).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_FALSE(fs::exists(first) || fs::exists(second));
}

}  // namespace
}  // namespace support
