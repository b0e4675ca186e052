// How a system in C++ is timed; stopwatch.py does the same in Python and says what a system is.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../figures.h"
#include "../standard_output.h"

namespace asyncgrad::benchmarks {

// Does so many units of a work; what is not computed when it returns, `wait` waits for.
using Run = std::function<void(int units)>;
// A work's name -> a function that prepares it.
using Works = std::map<std::string, std::function<Run()>>;

// What works do not know of their system.
struct System {
  const char* version;
  void (*use_device)(const char* name) = [](const char*) {};
  void (*wait)() = [] {};  // returns when all that was queued is computed
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

inline void time_work(const std::function<Run()>& prepare, int units, const System& system, Until until) {
  const Run run = prepare();
  repeat(run, units, system, 0.5);
  const double unit_s = median(repeat(run, units, system, 1, until)) / units;
  std::printf("{\"version\": \"%s\", \"seconds\": %.9g}\n", system.version, unit_s);
}

// What main() of a system does with its command line. Returns the process's status.
inline int do_work(int argc, char** argv, const System& system, const Works& works) {
  const std::string name = argc == 4 ? argv[1] : "without a name";
  const auto work = works.find(name);
  if (work == works.end()) {
    std::fprintf(stderr, "there is no work %s here\n", name.c_str());
    return 1;
  }
  try {
    system.use_device(argv[3]);
    time_work(work->second, std::atoi(argv[2]), system, name.ends_with("_queued") ? Until::queued : Until::computed);
    return check_standard_output() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace asyncgrad::benchmarks
