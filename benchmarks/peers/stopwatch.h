// How a system in C++ is timed; stopwatch.py does the same in Python and says what a system is.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../figures.h"

namespace asyncgrad::benchmarks {

// Does so many units of a work and returns when all are computed.
using Run = std::function<void(int units)>;
// A work's name -> a function that prepares it.
using Works = std::map<std::string, std::function<Run()>>;

inline std::vector<double> repeat(const Run& run, int units, double at_least_s) {
  std::vector<double> times;
  for (double sum_s = 0; times.size() < 3 || sum_s < at_least_s; sum_s += times.back()) {
    const double started = seconds();
    run(units);
    times.push_back(seconds() - started);
  }
  return times;
}

// What main() of a system does with its command line. Returns the process's status.
inline int do_work(int argc, char** argv, const char* version, const Works& works) {
  const auto work = argc == 3 ? works.find(argv[1]) : works.end();
  if (work == works.end()) {
    std::fprintf(stderr, "there is no work %s here\n", argc > 1 ? argv[1] : "without a name");
    return 1;
  }
  const int units = std::atoi(argv[2]);
  const Run run = work->second();
  repeat(run, units, 0.5);
  std::printf("{\"version\": \"%s\", \"seconds\": %.9g}\n", version, median(repeat(run, units, 1)) / units);
  return 0;
}

}  // namespace asyncgrad::benchmarks
