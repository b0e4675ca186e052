#include "asyncgrad/core/file/whole_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "asyncgrad/core/file/input_file.h"
#include "tests/core/file/file_system.h"
#include "tests/support/files.h"
#include "tests/support/limited_files.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::detail {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::content;
using tests::message_of;

class WholeFiles : public testing::Test {
 protected:
  void TearDown() override { tests::file_system_calls = nullptr; }

  std::string path(const std::string& name) const { return folder_.file(name); }
  void put(const std::string& name, const std::string& text) const { tests::write(path(name), text); }
  static void replace(const std::string& path, std::string_view text) { replace_file("test", path, text); }
  const char* folder() const { return folder_.path().c_str(); }
  // The number of files, which shows that none but the test's own are there.
  long files() const { return tests::number_of_files(folder_.path()); }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(WholeFiles, ReplaceWhatWasThere) {
  put("a", "old and long");
  chmod(path("a").c_str(), 0640);
  replace(path("a"), "new");
  EXPECT_EQ(content(path("a")), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
  replace(path("b"), "made");
  EXPECT_EQ(content(path("b")), "made");
  EXPECT_EQ(files(), 2);
}

TEST_F(WholeFiles, MayBeLong) {
  const std::string text(3'000'001, 'x');
  replace(path("a"), text);
  EXPECT_EQ(content(path("a")), text);
}

TEST_F(WholeFiles, DoNotAppearBeforeTheyAreCommitted) {
  put("a", "old");
  {
    WholeFile file("test", path("a"));
    file.write("new", 3);
    EXPECT_EQ(content(path("a")), "old");
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFiles, AreOnTheDiskBeforeTheyAppear) {
  tests::FileSystemCalls calls;
  tests::file_system_calls = &calls;
  replace(path("a"), "new");
  EXPECT_THAT(calls.made, ElementsAre("fsync", "rename", "fsync folder"));
}

TEST_F(WholeFiles, LeaveTheOldOneWhereTheDiskIsFull) {
  put("a", "old");
  for (const std::size_t size : {1001U, 5000U, 2'000'000U}) {
    const tests::LimitedFiles limited(1000);
    EXPECT_EQ(message_of([&] { replace(path("a"), std::string(size, 'x')); }),
              "[test] cannot write '" + path("a") + "': File too large");
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFiles, LeaveTheOldOneWhereTheSystemRefuses) {
  put("a", "old");
  for (const auto& [refused, message] :
       {std::pair{"fsync", "Input/output error"}, {"rename", "Invalid cross-device"}}) {
    tests::FileSystemCalls calls{.made = {}, .refused = refused};
    tests::file_system_calls = &calls;
    EXPECT_THAT(message_of([&] { replace(path("a"), "new"); }),
                HasSubstr("[test] cannot write '" + path("a") + "': " + message));
    EXPECT_EQ(content(path("a")), "old");
    EXPECT_EQ(files(), 1);
  }
  tests::FileSystemCalls calls{.made = {}, .refused = "fsync folder"};
  tests::file_system_calls = &calls;
  EXPECT_EQ(message_of([&] { replace(path("a"), "new"); }),
            "[test] cannot put on the disk the folder of '" + path("a") + "': Input/output error");
  EXPECT_EQ(content(path("a")), "new");
}

// Makes the thread a user without rights while it lives, as root may write every file.
class AsNobody {
 public:
  AsNobody() : before_(setfsuid(65534)) {}
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() { setfsuid(static_cast<uid_t>(before_)); }

 private:
  int before_;
};

TEST_F(WholeFiles, AreRefusedWhereTheFolderOrTheOldOneMayNotBeWritten) {
  put("a", "old");
  for (const auto& [folder_mode, file_mode] : {std::pair{0555U, 0666U}, {0777U, 0444U}}) {
    chmod(folder(), folder_mode);
    chmod(path("a").c_str(), file_mode);
    {
      const AsNobody nobody;
      EXPECT_EQ(message_of([&] { replace(path("a"), "new"); }),
                "[test] cannot write '" + path("a") + "': Permission denied");
    }
    EXPECT_EQ(content(path("a")), "old");
  }
}

TEST_F(WholeFiles, AreRefusedForAPathThatTheSystemWouldCut) {
  put("precious", "old");
  using namespace std::string_literals;
  EXPECT_THAT(message_of([&] { replace(path("precious\0.new"s), "new"); }), HasSubstr("a path has no NUL"));
  EXPECT_THAT(message_of([&] { InputFile("test", path("precious\0.new"s)); }), HasSubstr("a path has no NUL"));
  EXPECT_EQ(content(path("precious")), "old");
}

TEST_F(WholeFiles, KeepLinks) {
  put("a", "old");
  fs::create_symlink("a", path("link"));
  fs::create_symlink("b", path("link_to_nothing"));
  replace(path("link"), "new");
  replace(path("link_to_nothing"), "made");
  EXPECT_EQ(content(path("a")), "new");
  EXPECT_EQ(content(path("b")), "made");
  EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("link_to_nothing")));
}

TEST_F(WholeFiles, AreWrittenDirectlyToDevices) {
  replace("/dev/null", "lost");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(message_of([] { replace("/dev/full", "lost"); }),
            "[test] cannot write '/dev/full': No space left on device");
}

TEST_F(WholeFiles, AreRefusedWhereNoneCanBe) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("circle", path("circle"));
  const auto refusal = [&](const std::string& name) { return message_of([&] { WholeFile("test", name); }); };
  EXPECT_THAT(refusal(path("pipe")), HasSubstr("No such device or address"));
  EXPECT_THAT(refusal(path("circle")), HasSubstr("symbolic links"));
  EXPECT_THAT(refusal(path(".")), HasSubstr("Is a directory"));
  EXPECT_THAT(refusal(path("no/such/folder")), HasSubstr("No such file or directory"));
  EXPECT_EQ(refusal(""), "[test] cannot write '': No such file or directory");
  EXPECT_EQ(files(), 2);
}

}  // namespace
}  // namespace asyncgrad::detail
