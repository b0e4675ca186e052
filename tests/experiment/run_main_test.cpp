#include "asyncgrad/experiment/run_main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/experiment/files.h"
#include "tests/experiment/shell.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::experiment {
namespace {

using testing::HasSubstr;

Outcome ended(const std::vector<std::string>& arguments, const std::string& redirection = "",
              const std::string& before = "") {
  std::vector<std::string> program{SMALL_PROGRAM};
  program.insert(program.end(), arguments.begin(), arguments.end());
  return run_in_shell(program, redirection, before);
}

TEST(RunMain, StatusAndMessageSayHowTheProgramEnded) {
  EXPECT_EQ(ended({}).exit_status, 0);
  EXPECT_EQ(ended({"three"}).exit_status, 3);
  const Outcome bad = ended({"bad input"}), error = ended({"error"}), unknown = ended({"something else"});
  EXPECT_EQ(bad.exit_status, 2);
  EXPECT_EQ(bad.output, "small_program: --way: 'bad' is not good\nSee small_program --help.\n");
  EXPECT_EQ(error.exit_status, 1);
  EXPECT_EQ(error.output, "small_program: nothing works\n");
  EXPECT_EQ(unknown.exit_status, 1);
  EXPECT_EQ(unknown.output, "small_program: an unknown error occurred\n");
}

TEST(RunMain, LostOutputIsAnError) {
  for (const char* how : {"print", "cout"}) {
    const Outcome full = ended({how}, ">/dev/full"), closed = ended({how}, ">&-");
    EXPECT_EQ(full.exit_status, 1);
    EXPECT_EQ(full.output, "small_program: standard output could not be written: No space left on device\n");
    EXPECT_EQ(closed.exit_status, 1);
    EXPECT_EQ(closed.output, "small_program: standard output could not be written: Bad file descriptor\n");
  }
}

TEST(RunMain, WithoutStandardErrorTheStatusIsTheSame) {
  for (const char* redirection : {"2>/dev/full", "2>&-"}) {
    EXPECT_EQ(ended({"bad input"}, redirection).exit_status, 2);
    EXPECT_EQ(ended({"error"}, redirection).exit_status, 1);
  }
}

TEST(RunMain, AFileNeverTakesThePlaceOfAClosedStream) {
  const asyncgrad::tests::TemporaryFolder folder;
  for (const char* redirection : {"<&- >&- 2>&-", ">&-", "2>&-"}) {
    ended({"save", folder.file("a")}, redirection);
    EXPECT_EQ(content(folder.file("a")), "saved\n") << redirection;
  }
}

TEST(RunMain, AReaderThatIsGoneDoesNotCostTheResults) {
  const asyncgrad::tests::TemporaryFolder folder;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  const Outcome outcome = ended({"save", folder.file("a")}, ">&" + std::to_string(ends[1]));
  close(ends[1]);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_EQ(outcome.output, "small_program: standard output could not be written: Broken pipe\n");
  EXPECT_EQ(content(folder.file("a")), "saved\n");
}

TEST(ReportOnSignal, PrintsAReportForEachSignalAndGoesOnAfterAnError) {
  const Outcome outcome = ended({"report"});
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.output, "report 1\nno report: the second is missing\n");
}

TEST(RunMain, ASignalForTheReportDoesNotEndTheProgram) { EXPECT_EQ(ended({"signal"}).exit_status, 0); }

TEST(RunMain, AFileBeyondTheLimitIsAnError) {
  const asyncgrad::tests::TemporaryFolder folder;
  write(folder.file("a"), "old");
  const Outcome outcome = ended({"save", folder.file("a")}, "", "ulimit -f 0");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("': File too large"));
  EXPECT_EQ(content(folder.file("a")), "old");
}

}  // namespace
}  // namespace asyncgrad::experiment
