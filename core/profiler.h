// Where the time goes: a recording of every operation, as a trace to look at and as a table.
//
//   profiler::start();
//   train();
//   std::cout << profiler::stop("trace.json").str();   // opens in https://ui.perfetto.dev
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace asyncgrad::profiler {

// All operations of one name.
struct OperationTimes {
  std::string name;          // "matmul", "relu_grad"
  std::string kind;          // "products", "elementwise", "random", …
  std::int64_t count = 0;    // operations, tiles not counted apart
  double total_s = 0;        // of all threads that computed them, or of the GPU
  double flops = 0;          // floating-point operations; of products only, else 0
  double operand_bytes = 0;  // of everything read and written
};

// Where the time of all threads and GPUs went. `operations`, held_back_s, idle_s and front_end_s together are
// workers * elapsed_s + devices_s + the front end's own time.
struct Summary {
  double elapsed_s = 0;                      // from start to stop
  int workers = 0;                           // threads that may compute at once
  std::vector<OperationTimes> operations{};  // the longest first, and together by kind
  double devices_s = 0;                      // of `operations`, what GPUs computed and copied
  double held_back_s = 0;                    // threads without work while admission held operations back
  double idle_s = 0;                         // threads without work otherwise
  double front_end_s = 0;       // the thread that called stop(): queueing, and what the program does itself
  double front_end_wait_s = 0;  // the same thread waiting, or computing meanwhile; not in the sum

  double total_s() const;
  std::string str() const;  // a table
};

// Waits for everything queued so far, then records what happens until stop(). A few hundred bytes an operation. Throws
// Error if a recording is under way. Any thread may call it.
void start();

// Waits for everything queued before, and stops to record. Throws Error if there is no recording. Any thread may call
// it; the one that does is the front end of the summary.
Summary stop();
// The same, and writes a file in Chrome's trace format, which Perfetto opens: a row for each thread, a span for each
// operation and each further tile, arrows along dependencies, counters for live memory, queue depth and budget. A GPU
// has a row for what it computes and one for its copies each way, by its own clock, to some microseconds; the thread
// that issues to it shows when it did. Throws Error before anything else, and records on, if the file cannot be opened;
// after it stopped if it cannot be written.
Summary stop(const std::string& path);

}  // namespace asyncgrad::profiler
