#include "asyncgrad/experiment/checks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/experiment/bad_input.h"
#include "tests/experiment/files.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

namespace fs = std::filesystem;

class Checks : public asyncgrad::tests::WithFolder<> {
 protected:
  static bool are_one(const std::string& json, const std::string& trace) {
    const std::string message = bad_input([&] {
      check_distinct({{"--json", json}, {"--plot", ""}, {"--trace", trace}});
    });
    if (message == "nothing was thrown") return false;
    EXPECT_EQ(message, "--trace: '" + trace + "' is the file of --json, too; give two files");
    return true;
  }
};

TEST_F(Checks, OneFileHasManyNames) {
  fs::create_directory(file("folder"));
  write(file("a"), "");
  fs::create_symlink("a", file("link"));
  fs::create_hard_link(file("a"), file("other_name"));
  for (const char* name : {"a", "./a", "folder/../a", "link", "other_name"}) {
    EXPECT_TRUE(are_one(file("a"), file(name))) << name;
  }
  for (const char* name : {"b", "./b", "folder/../b"}) EXPECT_TRUE(are_one(file("b"), file(name))) << name;
  EXPECT_FALSE(are_one(file("a"), file("b")));
  EXPECT_FALSE(are_one(file("a"), file("folder/a")));
  EXPECT_FALSE(are_one("/dev/null", "/dev/null"));
  EXPECT_FALSE(are_one("", ""));
}

TEST_F(Checks, AreSilentAboutFilesThatCanBeWrittenAndLeaveThemAlone) {
  write(file("a"), "old");
  check_writable({"--json", file("a")});
  check_writable({"--json", file("b")});
  check_writable({"--json", "/dev/null"});
  EXPECT_EQ(content(file("a")), "old");
  EXPECT_EQ(number_of_files(folder()), 1);
}

TEST_F(Checks, APipeIsRefusedWithoutWaitingForAReader) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(bad_input([&] {
              check_writable({"--json", file("pipe")});
            }),
            "--json: cannot write '" + file("pipe") + "': it is a pipe or another special file; give a regular file");
}

TEST_F(Checks, NameTheOptionAndTheFile) {
  EXPECT_EQ(bad_input([&] {
              check_writable({"--json", file("no/file")});
            }),
            "--json: cannot write '" + file("no/file") + "': No such file or directory");
}

}  // namespace
}  // namespace asyncgrad::experiment
