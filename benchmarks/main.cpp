// The main() of every *_bench.
#include <benchmark/benchmark.h>

#include "standard_output.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (!asyncgrad::benchmarks::check_standard_output()) return 1;  // closed: another file could take its place
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return asyncgrad::benchmarks::check_standard_output() ? 0 : 1;
}
