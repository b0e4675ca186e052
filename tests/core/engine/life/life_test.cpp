// The engine's options, fork and exit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/support/forked.h"
#include "tests/support/message_of.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

TEST(EngineOptions, WithoutSenseAreRefused) {
  const EngineOptions before = engine_options();
  EXPECT_EQ(message_of([] { set_engine_options({.workers = -1}); }), "[engine] workers must be 0 to 4096, got -1");
  EXPECT_EQ(message_of([] { set_engine_options({.workers = 4097}); }), "[engine] workers must be 0 to 4096, got 4097");
  EXPECT_EQ(message_of([] { set_engine_options({.queue_capacity = 0}); }),
            "[engine] queue_capacity must be 1 to 1048576, got 0");
  EXPECT_EQ(message_of([] { set_engine_options({.queue_capacity = (1 << 20) + 1}); }),
            "[engine] queue_capacity must be 1 to 1048576, got 1048577");
  for (const int bytes : {-1, -2, -3}) {
    EXPECT_EQ(message_of([&] { set_engine_options({.memory_budget = MemoryBudget::bytes(bytes)}); }),
              "[engine] memory_budget must be at least 0, got " + std::to_string(bytes));
  }
  EXPECT_EQ(message_of([] { set_engine_options({.max_cached_bytes = -1}); }),
            "[engine] max_cached_bytes must be at least 0, got -1");
  EXPECT_EQ(engine_options().workers, before.workers);
}

TEST(EngineOptions, AreWhatWasSet) {
  set_engine_options({.workers = 3,
                      .schedule = Schedule::first_ready,
                      .queue_capacity = 77,
                      .inline_tiny = false,
                      .max_cached_bytes = 5});
  const EngineOptions options = engine_options();
  EXPECT_EQ(options.workers, 3);
  EXPECT_EQ(options.schedule, Schedule::first_ready);
  EXPECT_EQ(options.queue_capacity, 77);
  EXPECT_FALSE(options.inline_tiny);
  EXPECT_EQ(options.max_cached_bytes, 5);
  set_engine_options({});
  EXPECT_GE(engine_options().workers, 1);
  EXPECT_EQ(engine_options().queue_capacity, 4096);
}

TEST(EngineOptions, OfADefaultBudget) {
  EXPECT_TRUE(MemoryBudget().is_automatic());
  EXPECT_TRUE(MemoryBudget::unbounded().is_unbounded());
  EXPECT_FALSE(MemoryBudget::bytes(0).is_automatic());
  EXPECT_EQ(MemoryBudget::bytes(5).bytes(), 5);
  EXPECT_NE(MemoryBudget(), MemoryBudget::unbounded());
}

TEST(EngineOptions, MayChangeWhileWorkIsQueued) {
  Tensor x = zeros({5000});
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20; ++i) x += 1;
    set_engine_options({.workers = 1 + round % 3, .queue_capacity = 5 + 100 * (round % 2), .inline_tiny = false});
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(5000, 400));
  set_engine_options({});
}

// A waiting thread may still be on its way into or out of the parts that new options replace.
TEST(EngineOptions, MayChangeWhileOthersWait) {
  for (int round = 0; round < 100; ++round) {
    Tensor x = zeros({20'000});
    for (int i = 0; i < 20; ++i) x += 1;
    std::thread waiting([&x] { x.wait(); });
    set_engine_options({.workers = 1 + round % 2,
                        .queue_capacity = 64 << round % 3,
                        .inline_tiny = false,
                        .cpu_parts = 1 + round % 2});
    waiting.join();
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(20'000, 20));
  }
  set_engine_options({});
}

// Each test's statement runs in a new process, in which the engine has not started yet.
class ProcessTest : public testing::Test {
 protected:
  ProcessTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
  ~ProcessTest() override {
    unsetenv("ASYNCGRAD_WORKERS");
    unsetenv("ASYNCGRAD_SCHEDULE");
  }
};
using EnvironmentDeathTest = ProcessTest;
using ExitDeathTest = ProcessTest;
using ThreadsDeathTest = ProcessTest;

// Prints the options that a new process has, or why it has none.
[[noreturn]] void show_options() {
  try {
    const EngineOptions options = engine_options();
    std::fprintf(stderr, "workers %d, schedule %d\n", options.workers, static_cast<int>(options.schedule));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::exit(0);
}

TEST_F(EnvironmentDeathTest, GivesTheFirstOptions) {
  setenv("ASYNCGRAD_WORKERS", "3", 1);
  setenv("ASYNCGRAD_SCHEDULE", "first_ready", 1);
  EXPECT_EXIT(show_options(), testing::ExitedWithCode(0), "workers 3, schedule 1");
  setenv("ASYNCGRAD_SCHEDULE", "immediate", 1);
  EXPECT_EXIT(show_options(), testing::ExitedWithCode(0), "workers 3, schedule 2");
  setenv("ASYNCGRAD_SCHEDULE", "dry_run", 1);
  EXPECT_EXIT(show_options(), testing::ExitedWithCode(0), "workers 3, schedule 3");
  setenv("ASYNCGRAD_WORKERS", "", 1);
  setenv("ASYNCGRAD_SCHEDULE", "oldest_first", 1);
  EXPECT_EXIT(show_options(), testing::ExitedWithCode(0), "workers [1-9][0-9]*, schedule 0");
}

TEST_F(EnvironmentDeathTest, NamesAWrongValue) {
  for (const char* workers : {"bad", "0", "-2", "3x", "4097", "99999999999"}) {
    setenv("ASYNCGRAD_WORKERS", workers, 1);
    EXPECT_EXIT(
        show_options(), testing::ExitedWithCode(0),
        std::string(".engine. ASYNCGRAD_WORKERS must be a number of threads, 1 to 4096, got '") + workers + "'");
  }
  unsetenv("ASYNCGRAD_WORKERS");
  setenv("ASYNCGRAD_SCHEDULE", "Immediate", 1);
  EXPECT_EXIT(show_options(), testing::ExitedWithCode(0),
              "ASYNCGRAD_SCHEDULE must be oldest_first, first_ready, immediate or dry_run, got 'Immediate'");
}

// Limits the addresses of the process to `more_bytes` more than it has now.
void limit_addresses(std::int64_t more_bytes) {
  long long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lld", &pages) != 1) std::exit(2);
  std::fclose(file);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more_bytes);
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(3);
}
bool computes() {
  const Tensor x = full({100'000}, 2);
  return (x * x).to_vector<float>() == std::vector<float>(100'000, 4);
}
auto thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

// Each thread's stack takes 8 MiB of addresses.
[[noreturn]] void start_more_workers_than_there_can_be() {
  set_engine_options({.workers = 200, .inline_tiny = false});
  limit_addresses(std::int64_t{200} << 20);
  const bool was_right = computes();
  const auto threads = thread_count();
  set_engine_options({.workers = 2});
  std::exit(was_right && threads > 2 && threads < 100 && computes() ? 0 : 1);
}
[[noreturn]] void start_workers_where_there_can_be_none() {
  set_engine_options({.workers = 2, .inline_tiny = false});
  limit_addresses(std::int64_t{6} << 20);
  std::fprintf(stderr, "%s\n", message_of(computes).c_str());
  limit_addresses(std::int64_t{1} << 30);
  std::exit(computes() && thread_count() == 3 ? 0 : 1);
}
TEST_F(ThreadsDeathTest, AreFewerIfTheSystemGivesNoMore) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers have all addresses";
  EXPECT_EXIT(start_more_workers_than_there_can_be(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(start_workers_where_there_can_be_none(), testing::ExitedWithCode(0),
              ".engine. the system gives no thread for 'cpu worker': ");
}

[[noreturn]] void leave_work_behind(int cpu_parts) {
  set_engine_options({.cpu_parts = cpu_parts});
  Tensor x = randn({300, 300});
  for (int i = 0; i < 2000; ++i) {
    x = matmul(x, x) * 0.01;
    if (cpu_parts > 1) x = x.to({DeviceType::cpu, i % cpu_parts});
  }
  std::exit(0);
}
TEST_F(ExitDeathTest, DropsWhatHasNotStarted) {
  // The test runs several times, because static objects of the kernels end at about the same time as the workers.
  for (int i = 0; i < 8; ++i) EXPECT_EXIT(leave_work_behind(1 + i % 2), testing::ExitedWithCode(0), "");
}

// A static object whose destructor waits for a tensor that will never be computed.
struct WaitsAtItsEnd {
  Tensor tensor;
  ~WaitsAtItsEnd() {
    try {
      tensor.wait();
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
};
[[noreturn]] void wait_after_the_end() {
  static WaitsAtItsEnd last;
  last.tensor = randn({300, 300});
  for (int i = 0; i < 2000; ++i) last.tensor = matmul(last.tensor, last.tensor) * 0.01;
  std::exit(0);
}
TEST_F(ExitDeathTest, AWaitAfterExitThrows) {
  EXPECT_EXIT(wait_after_the_end(), testing::ExitedWithCode(0),
              ".engine. the end of the process has dropped the operation that this wait is for");
}

[[noreturn]] void leave_an_error_behind(bool was_told) {
  const Tensor bad = take(ones({8, 3}), Tensor::from<std::int64_t>({8}, {1}));
  mark().wait();
  try {
    if (was_told) bad.wait();
  } catch (const Error&) {
    std::fprintf(stderr, "told\n");
  }
  std::exit(0);
}
TEST_F(ExitDeathTest, PrintsErrorsThatNobodyWasToldOf) {
  EXPECT_EXIT(leave_an_error_behind(false), testing::ExitedWithCode(0),
              "asyncgrad: an error that no wait has reported: .take. index 8 at position 0 is outside 8 rows");
  EXPECT_EXIT(leave_an_error_behind(true), testing::ExitedWithCode(0), "^told\n$");
}

[[noreturn]] void leave_many_errors_behind() {
  for (int i = 0; i < 250; ++i) static_cast<void>(take(ones({8, 3}), Tensor::from<std::int64_t>({8}, {1})));
  mark().wait();
  std::exit(0);
}
TEST_F(ExitDeathTest, CountsErrorsThatAreTooMany) {
  EXPECT_EXIT(leave_many_errors_behind(), testing::ExitedWithCode(0), "\nasyncgrad: and 150 more\n");
}

// A thread that has never used the library exits, most often while oneDNN makes kernels on another one.
[[noreturn]] void leave_work_to_another_thread() {
  static std::atomic<bool> has_queued{false};
  std::thread([] {
    Tensor x = randn({300, 300});
    for (int i = 0; i < 2000; ++i) x = matmul(x, x) * 0.01;
    has_queued = true;
    x.wait();
    pause();
  }).detach();
  while (!has_queued) std::this_thread::yield();
  std::exit(0);
}
TEST_F(ExitDeathTest, MayComeWhileAnotherThreadMultiplies) {
  for (int i = 0; i < 8; ++i) EXPECT_EXIT(leave_work_to_another_thread(), testing::ExitedWithCode(0), "");
}

float sum_of_a_chain(Tensor x) {
  for (int i = 0; i < 100; ++i) x = x + 1;
  return x.to_vector<float>()[999];
}

// Both sides of a fork go on with what was queued before it, and with new work on new threads.
TEST(Fork, LeavesBothSidesWorking) {
  if (no_threads_in_child != nullptr) GTEST_SKIP() << no_threads_in_child;
  for (int round = 0; round < 20; ++round) {
    const int parts = 1 + round % 2;
    set_engine_options({.workers = 2, .queue_capacity = 64, .inline_tiny = false, .cpu_parts = parts});
    Tensor x = zeros({1000});
    for (int i = 0; i < 50; ++i) x += 1;
    x = x.to({DeviceType::cpu, parts - 1});
    const pid_t child = fork_child([&] { return sum_of_a_chain(x) == 150; });
    EXPECT_EQ(sum_of_a_chain(x), 150);
    ASSERT_EQ(status_of(child), 0);
  }
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::tests
