// The end of the process: queued operations, and events that may come while it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/message_of.h"
#include "tests/support/sanitizer.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::tests {
namespace {

using testing::ExitedWithCode;

// Deep in a run-ahead of some tenths of a second.
nn::Dense trained() {
  nn::Dense net(200, 200);
  Tensor x = randn({300, 300});
  for (int i = 0; i < 50; ++i) x = matmul(x, x) * 0.01;
  const NoGrad no_grad;
  net.bias += sum(x) * 0 + 7;
  return net;
}

// Each runs in a process of its own, which starts anew.
class EndOfProcessTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using EndOfProcessDeathTest = EndOfProcessTest;

// The parent reads the file, whose name must be the same in the child.
std::string file_of_test() {
  return testing::TempDir() + "asyncgrad_exit_" + testing::UnitTest::GetInstance()->current_test_info()->name();
}
float bias_in(const std::string& path) {
  nn::Dense net(200, 200);
  nn::load(path, net);
  return net.bias.to_vector<float>()[0];
}

[[noreturn]] void save_and_leave(const std::string& path, const nn::Dense& net) {
  static_cast<void>(nn::save_queued(path, net));
  std::exit(0);
}
TEST_F(EndOfProcessDeathTest, WritesWhatWasToBeSaved) {
  const std::string path = file_of_test();
  std::remove(path.c_str());
  EXPECT_EXIT(save_and_leave(path, trained()), ExitedWithCode(0), "^$");
  EXPECT_EQ(bias_in(path), 7);
  std::remove(path.c_str());
}

TEST_F(EndOfProcessDeathTest, SaysWhatCouldNotBeWritten) {
  EXPECT_EXIT(save_and_leave("/nonexistent/file", trained()), ExitedWithCode(0),
              "an error that no wait has reported: .nn::save_queued. .*/nonexistent/file");
}

[[noreturn]] void leave_from_a_kernel(const std::string& path) {
  static std::atomic<bool> is_queued{false};
  const auto leave = [](const CustomCall&) {
    while (!is_queued) std::this_thread::yield();
    std::exit(0);
  };
  // The first file of a process waits until everything is finished, which the kernel below is not.
  source("first", {.shape = {1}}, [](const CustomCall& call) { call.output<float>()[0] = 1; }).wait();
  nn::Dense net(1, 1);
  {
    const NoGrad no_grad;
    net.bias += custom("leaves", {.shape = {1}}, {}, leave, {.cost = 1 << 30});
  }
  static_cast<void>(nn::save_queued(path, net));
  is_queued = true;
  for (;;) pause();
}
TEST_F(EndOfProcessDeathTest, SaysThatAnOperationEndedTheProcessBeforeFilesWereWritten) {
  EXPECT_EXIT(leave_from_a_kernel(file_of_test()), ExitedWithCode(0), "ended inside an operation, before all files");
}

[[noreturn]] void save_too_late() {
  static nn::Dense* net = nullptr;
  std::atexit([] {
    const std::string message = message_of([] { static_cast<void>(nn::save_queued("late", *net)); });
    std::fprintf(stderr, "%s\n", message.c_str());
  });
  net = new nn::Dense(2, 2);
  wait_all();
  std::exit(0);
}
TEST_F(EndOfProcessDeathTest, AFileQueuedAfterItIsAnError) {
  EXPECT_EXIT(save_too_late(), ExitedWithCode(0), "the end of the process has begun");
}

// A thread that the process joins after main() would wait for ever.
[[noreturn]] void leave_while_another_thread_waits() {
  struct Asking {
    Asking() = default;
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    ~Asking() {
      thread.join();
      std::fprintf(stderr, "%s\n", message.c_str());
    }
    std::thread thread;
    std::string message;
  };
  static Asking asking;
  static std::atomic<bool> is_asked{false};
  asking.thread = std::thread([] {
    const Tensor bias = trained().bias;
    is_asked = true;
    asking.message = message_of([&] { bias.wait(); });
  });
  while (!is_asked) std::this_thread::yield();
  std::exit(0);
}
TEST_F(EndOfProcessDeathTest, EndsTheWaitsOfOtherThreads) {
  if (is_sanitized) GTEST_SKIP() << "it takes seconds, in which nothing is computed";
  EXPECT_EXIT(leave_while_another_thread_waits(), ExitedWithCode(0), "has dropped the operation that this wait is for");
}

[[noreturn]] void fork_too_late() {
  static Tensor* bias = nullptr;
  std::atexit([] {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    waitpid(child, &status, 0);
    std::fprintf(stderr, "the child ended with %d\n", WEXITSTATUS(status));
  });
  bias = new Tensor(trained().bias);
  static_cast<void>(bias->is_ready());
  std::exit(0);
}
TEST_F(EndOfProcessDeathTest, AForkAfterItWaitsForNothing) {
  EXPECT_EXIT(fork_too_late(), ExitedWithCode(0), "the child ended with 7");
}

// exit() is not among what a handler may call, but many do.
[[noreturn]] void leave_from_a_handler(int microseconds) {
  signal(SIGALRM, [](int) { std::exit(3); });
  const itimerval timer{{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  Tensor x = randn({300, 300});
  for (;;) {
    for (int i = 0; i < 50; ++i) x = matmul(x, x) * 1e-3;
    x.wait();
  }
}
TEST_F(EndOfProcessDeathTest, MayComeFromAHandlerDuringTheFirstProducts) {
  if (is_sanitized) GTEST_SKIP() << "a handler that calls exit() meets the sanitizer's own locks";
  for (int microseconds = 2000; microseconds <= 40'000; microseconds += 2000) {
    EXPECT_EXIT(leave_from_a_handler(microseconds), ExitedWithCode(3), "") << microseconds;
  }
}

// Another thread makes executors anew when the end looks for those that compute.
[[noreturn]] void leave_while_options_are_set(int microseconds) {
  std::thread([] {
    for (int workers = 1;; workers = workers % 4 + 1) {
      set_engine_options({.workers = workers, .cpu_parts = workers});
      for (int part = 0; part < workers; ++part)
        static_cast<void>(ones({8}, {.device = Device(DeviceType::cpu, part)}));
    }
  }).detach();
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  std::exit(4);
}
TEST_F(EndOfProcessDeathTest, MayComeWhileAnotherThreadSetsOptions) {
  for (int i = 0; i < (is_sanitized ? 5 : 30); ++i) {
    EXPECT_EXIT(leave_while_options_are_set(2000 + 37 * i), ExitedWithCode(4), "") << i;
  }
}

// Fills the memory that the process may have, and lets an exception pass through the C library, as a library does whose
// initialisation fails.
[[noreturn]] void throw_through_once_without_memory() {
  wait_all();  // the engine is there
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1;
  setrlimit(RLIMIT_AS, &limit);
  for (std::size_t bytes = 1 << 20; bytes >= 16; bytes /= 2) {
    void* volatile block = nullptr;
    do block = std::malloc(bytes);
    while (block != nullptr);
  }
  static std::once_flag flag;
  try {
    std::call_once(flag, [] { throw 1; });
  } catch (int) {
    std::_Exit(0);
  }
  std::_Exit(1);
}
TEST_F(EndOfProcessDeathTest, IsNotForWantOfAnUnwinder) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizers need more memory";
  EXPECT_EXIT(throw_through_once_without_memory(), ExitedWithCode(0), "");
}

}  // namespace
}  // namespace asyncgrad::tests
