#include "asyncgrad/experiment/process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace asyncgrad::experiment {
namespace {

TEST(Process, OutputOfTheCapturedFileIsKept) {
  for (const int file : {1, 3, 7}) {
    const Outcome outcome =
        run_process({.arguments = {"sh", "-c", "echo here >&" + std::to_string(file)}, .captured = file});
    EXPECT_TRUE(outcome.good()) << outcome.what();
    EXPECT_EQ(outcome.output, "here\n");
  }
}

TEST(Process, InputOfAnySizeIsRead) {
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(run_process({.arguments = {"cat"}, .input = text}).output, text);
  EXPECT_EQ(run_process({.arguments = {"cat"}, .input = ""}).output, "");
}

TEST(Process, HowItEndedIsReported) {
  const Outcome failed = run_process({.arguments = {"sh", "-c", "echo half; exit 3"}});
  EXPECT_FALSE(failed.good());
  EXPECT_EQ(failed.output, "half\n");
  EXPECT_EQ(failed.what(), "ended with exit status 3");
  const Outcome killed = run_process({.arguments = {"sh", "-c", "kill -KILL $$"}});
  EXPECT_FALSE(killed.good());
  EXPECT_EQ(killed.what(), "was ended by signal 9 (Killed)");
  const Outcome missing = run_process({.arguments = {"/no/such/program"}});
  EXPECT_FALSE(missing.good());
  EXPECT_EQ(missing.what(), "could not be started");
}

TEST(Process, HowItEndedIsReportedEvenWhereChildrenAreIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run_process({.arguments = {"sh", "-c", "exit 3"}}).exit_status, 3);
}

TEST(Process, AProgramMayHaveAnotherNameThanItsFile) {
  EXPECT_EQ(run_process({.arguments = {"another", "-c", "echo $0"}, .file = "/bin/sh"}).output, "another\n");
}

}  // namespace
}  // namespace asyncgrad::experiment
