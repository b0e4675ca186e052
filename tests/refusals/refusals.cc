// Runs programs whose requests the system refuses, each in a process of its own. The system refuses one request, all
// from one on, or all beyond a limit. Then it grants them again, and the program must go on to the right result, and
// neither end nor hang.
//
//   refusals [--all] [SCENARIO...]     --all: refuses every request in turn, not a sample of them
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/refusals/scenarios.h"
#include "tests/refusals/system.h"

namespace asyncgrad::refusals {
namespace {

constexpr int max_seconds = 20;  // a child that takes longer hangs
enum Outcome : int { fine = 0, terminated = 66, hung = 67, wrong = 68, other_exception = 69 };

// What a child process reports.
struct Told {
  std::int64_t requests;
  double result;
};

[[noreturn]] void end(Outcome outcome) {
  print_first_refusal();
  _exit(outcome);
}

void work_while_refused(const Scenario& scenario) {
  try {
    if (scenario.before == nullptr) scenario.set_up();
    scenario.work();
    wait_all();
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    std::printf("  neither Error nor std::bad_alloc: %s\n", error.what());
    std::fflush(stdout);
    end(other_exception);
  }
}

// `expected` is null in the child process that computes it.
[[noreturn]] void run_child(const Scenario& scenario, const Refusal& refusal, const double* expected, Told& told) {
  std::set_terminate([] {
    print_calls();  // what could not go on
    end(terminated);
  });
  std::signal(SIGALRM, [](int) { end(hung); });
  alarm(max_seconds);
  if (scenario.before != nullptr) {
    scenario.set_up();
    scenario.before();
    wait_all();
  }
  refuse(refusal);
  work_while_refused(scenario);
  told.requests = give_again();
  recover();
  if (scenario.before == nullptr) scenario.set_up();
  const double result = scenario.result();
  told.result = result;
  if (expected != nullptr && std::memcmp(&result, expected, sizeof result) != 0) {
    std::printf("  the result is %.17g and should be %.17g\n", result, *expected);
    std::fflush(stdout);
    end(wrong);
  }
  _exit(fine);
}

std::string describe(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case terminated:
      return "std::terminate";
    case hung:
      return "it hangs";
    case wrong:
      return "a wrong result";
    case other_exception:
      return "another exception";
    default:
      return "exit status " + std::to_string(WEXITSTATUS(status));
  }
}

// Returns whether the scenario has passed.
bool run(const Scenario& scenario, const Refusal& refusal, const double* expected, Told& told) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) run_child(scenario, refusal, expected, told);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    std::perror("no child");
    return false;
  }
  if (status == 0) return true;
  std::printf("%s: %s; refused: %s %lld%s\n", scenario.name, describe(status).c_str(),
              is_limit(refusal.kinds) ? "what is beyond step" : "request", static_cast<long long>(refusal.first),
              refusal.count == 1 ? "" : " and all after it");
  return false;
}

// The requests to refuse: all of the first ones, where the engine starts, and some of the others. Their number differs
// a little from run to run.
std::vector<std::int64_t> samples(std::int64_t requests, bool takes_all) {
  constexpr std::int64_t first_ones = 8, others = 12;
  std::vector<std::int64_t> numbers;
  for (std::int64_t n = 0; n < requests;) {
    numbers.push_back(n);
    n += takes_all || n < first_ones ? 1 : std::max<std::int64_t>(1, (requests - first_ones) / others);
  }
  return numbers;
}

// Returns how many scenarios have failed.
int run_all(const Scenario& scenario, bool takes_all, Told& told) {
  if (!run(scenario, {.kinds = scenario.kinds, .first = INT64_MAX, .count = 1}, nullptr, told)) return 1;
  const Told expected = told;
  int runs = 0, failed = 0;
  for (const std::int64_t first : samples(expected.requests, takes_all)) {
    for (const std::int64_t count : {std::int64_t{1}, INT64_MAX}) {
      if (count != 1 && scenario.is_one_at_a_time) continue;
      ++runs;
      failed += run(scenario, {scenario.kinds, first, count}, &expected.result, told) ? 0 : 1;
    }
  }
  std::printf("%s: %lld requests or steps, %d runs, %d failed\n", scenario.name,
              static_cast<long long>(expected.requests), runs, failed);
  return failed;
}

int main_of(int argc, char** argv) {
  bool takes_all = false;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--all") {
      takes_all = true;
    } else {
      wanted.emplace_back(argv[i]);
    }
  }
  auto* const told =
      static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int ran = 0, failed = 0;
  for (const Scenario& scenario : scenarios()) {
    if (!wanted.empty() && std::ranges::find(wanted, scenario.name) == wanted.end()) continue;
    ++ran;
    failed += run_all(scenario, takes_all, *told);
  }
  if (ran < static_cast<int>(wanted.size()) || ran == 0) {
    std::printf("there is no such scenario\n");
    return 2;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace asyncgrad::refusals

int main(int argc, char** argv) { return asyncgrad::refusals::main_of(argc, argv); }
