// What the demonstrations of the chapters share: options, the book's Benchmark, claims that are computed from measured
// values, and the results as data. One thread uses it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/machine.h"
#include "examples/support/picture.h"

namespace support {

struct DemoOptions {
  std::string device = "cpu";
  bool book = false, small = false;     // the sizes of the book, of a moment
  int repeat = 3;                       // how often each benchmark runs
  std::string json{}, trace{}, plot{};  // files; empty: none
  std::string help{};                   // not empty: the text that was asked for; nothing else holds
};

// One number for each size that a demonstration runs at.
struct Sizes {
  std::int64_t small, usual, book;
};

// What a claim is about. Times depend on the machine and on what else it does; values never do.
enum class About { time, values };

class Demo {
 public:
  Demo(std::string name, DemoOptions options);

  std::int64_t size(const Sizes& sizes) const;
  int repeat() const { return options_.repeat; }

  // Runs `work` `repeat` times, each when everything queued before is finished, and returns the shortest time in
  // seconds: whatever else the machine does only adds. What `work` does not wait for itself is not in it.
  double shortest_s(const std::function<void()>& work) const;
  // The same, printed and kept.
  double benchmark(const std::string& name, const std::function<void()>& work);
  // A time that was measured otherwise.
  void note(const std::string& name, double seconds);
  // Text beside the claims.
  void print(std::string_view text) const;

  // Prints the sentence and whether it holds, and keeps both with the figures it was computed from.
  void claim(bool holds, const std::string& sentence, const Json& figures, About about = About::time);

  // Why nothing could be measured here: a demonstration that says so has no claims.
  void skip(const std::string& reason);

  // Draws the picture asked for by --plot.
  void chart(const Chart& chart) const;
  // Records `work`, which is to wait for what it queues: for --trace, and as the picture asked for by --plot. Runs
  // nothing if neither was asked for.
  void timeline(const std::string& title, const std::function<void()>& work) const;
  // The same for --trace alone, in a demonstration whose picture is a chart.
  void trace(const std::function<void()>& work) const;

  // Writes the data asked for by --json. Returns the exit status: 1 if a claim about values does not hold.
  int finish() const;

 private:
  std::string name_;
  DemoOptions options_;
  Json benchmarks_ = Json::array(), claims_ = Json::array();
  bool values_hold_ = true;
  std::string skipped_;
};

// Reads the command line, runs `show`, and returns the exit status of the program.
int demonstrate(int argc, char** argv, void (*show)(Demo&));

// The trace of `work`, which is to wait for what it queues; it is kept in `file` unless that is empty.
Json trace_of(const std::function<void()>& work, const std::string& file = "");

// Whether two tensors of float32 have the same shape and bits. Waits for both.
bool same_bits(const asyncgrad::Tensor& a, const asyncgrad::Tensor& b);

}  // namespace support
