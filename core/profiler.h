// Records every operation and shows where the time goes, as a table and as a trace.
//
//   profiler::start();
//   train();
//   std::cout << profiler::stop("trace.json").str();   // opens in https://ui.perfetto.dev
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace asyncgrad::profiler {

// The operations of one name together.
struct OperationTimes {
  std::string name;          // "matmul", "relu_grad"; "matmul, again" for values that were dropped to fit a budget
  std::string kind;          // "products", "elementwise", "random", …
  std::int64_t count = 0;    // the number of operations; the tiles of one count once
  double total_s = 0;        // the time of all threads that computed them, or of the GPU
  double flops = 0;          // floating-point operations of products, convolutions and attention; 0 for others
  double operand_bytes = 0;  // the size of everything that was read and written
};

// The time of all threads and GPUs, by use. `operations`, held_back_s, idle_s and front_end_s add up to workers *
// elapsed_s + devices_s + the front end's own time.
struct Summary {
  double elapsed_s = 0;                    // from start() to stop()
  int workers = 0;                         // the number of threads that may compute at once
  std::vector<OperationTimes> operations;  // grouped by kind, the longest first
  double devices_s = 0;                    // the part of `operations` that GPUs computed and copied
  double held_back_s = 0;                  // time of threads without work while admission held operations back
  double idle_s = 0;                       // other time of threads without work
  double front_end_s = 0;       // time of the thread that called stop(): queueing, and the program's own work
  double front_end_wait_s = 0;  // time in which that thread waited, or computed while it waited; not in the sum

  double total_s() const;
  std::string str() const;  // a table
};

// Waits for everything queued so far, then records what happens until stop(). The recording takes a few hundred bytes
// of memory for each operation. Throws Error if a recording is under way. Any thread may call it.
void start();

// Waits for everything queued before, then ends the recording. Throws Error if there is none. Any thread may call it;
// the summary takes that thread for the front end.
Summary stop();
// Does the same, and writes a file in Chrome's trace format, which Perfetto opens. The trace has a row for each thread,
// a span for each operation and each further tile, arrows along dependencies, and counters for live memory, queue depth
// and budget. A GPU has a row for what it computes and one for its copies in each direction, by its own clock, which is
// exact to some microseconds; the row of the thread that issues to it shows when it did. The file appears whole or not
// at all. Throws Error if it cannot be opened, and then goes on recording; throws Error if it cannot be written, after
// the recording has ended, and then what was there stays.
Summary stop(const std::string& path);

}  // namespace asyncgrad::profiler
