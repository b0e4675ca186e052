// How a system in C++ is timed; stopwatch.py does the same in Python and says what a system is.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../figures.h"
#include "../standard_output.h"

namespace asyncgrad::benchmarks {

// Does this many units of a workload. System::wait waits for what is not computed when it returns.
using Run = std::function<void(int units)>;
// A workload's name -> a function that prepares it.
using Workloads = std::map<std::string, std::function<Run()>>;

// The properties of a system that its workloads do not know.
struct System {
  const char* version;
  void (*use_device)(const char* name) = [](const char*) {};
  void (*wait)() = [] {};                    // returns when all that was queued is computed
  void (*set_threads)(int count) = nullptr;  // if there is one, the better number of threads is taken
};

enum class Until { queued, computed };

inline std::vector<double> repeat(const Run& run, int units, const System& system, double at_least_s,
                                  Until until = Until::computed) {
  std::vector<double> times;
  const double end = seconds() + at_least_s;
  while (times.size() < 3 || seconds() < end) {
    const double started = seconds();
    run(units);
    const double queued = seconds();
    system.wait();
    times.push_back((until == Until::queued ? queued : seconds()) - started);
  }
  return times;
}

// Sets the number of threads, one or one for each core, with which the units take the least time.
inline void choose_threads(const Run& run, int units, const System& system) {
  const auto least_s = [&](int threads) {
    system.set_threads(threads);
    return std::ranges::min(repeat(run, units, system, 0.25));
  };
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  const bool all_are_faster = least_s(all) < least_s(1);
  system.set_threads(all_are_faster ? all : 1);
}

inline void time_workload(const std::function<Run()>& prepare, int units, const System& system, Until until) {
  const Run run = prepare();
  repeat(run, units, system, 0.5);
  if (system.set_threads != nullptr) choose_threads(run, units, system);
  const double unit_s = median(repeat(run, units, system, 1, until)) / units;
  std::printf("{\"version\": \"%s\", \"seconds\": %.9g}\n", system.version, unit_s);
}

// The whole of main() of a system, given its command line. Returns the process's status.
inline int do_workload(int argc, char** argv, const System& system, const Workloads& workloads) {
  const std::string name = argc == 4 ? argv[1] : "without a name";
  const auto workload = workloads.find(name);
  if (workload == workloads.end()) {
    std::fprintf(stderr, "there is no workload %s here\n", name.c_str());
    return 1;
  }
  try {
    system.use_device(argv[3]);
    time_workload(workload->second, std::atoi(argv[2]), system,
                  name.ends_with("_queued") ? Until::queued : Until::computed);
    return check_standard_output() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace asyncgrad::benchmarks
