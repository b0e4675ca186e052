// The common parts of the chapters' demonstrations: options, the book's Benchmark, claims that are computed from
// measured values, and the results as data. One thread uses it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/experiment.h"
#include "asyncgrad/experiment/results.h"
#include "examples/support/picture.h"

namespace support {

using asyncgrad::experiment::seconds_text;

struct DemoOptions {
  std::string device = "cpu";
  bool book = false, small = false;     // the book's sizes; sizes that take a moment
  int repeat = 3;                       // how often each benchmark runs
  std::string json{}, trace{}, plot{};  // files; empty: none
  std::string help{};                   // not empty: the help was asked for, and this is its text
};

// One number for each size that a demonstration runs at.
struct Sizes {
  std::int64_t small, usual, book;
};

// The subject of a claim. Times depend on the machine and on what else it does; values never do.
enum class About { time, values };

class Demo {
 public:
  Demo(std::string name, DemoOptions options);

  std::int64_t size(const Sizes& sizes) const;
  int repeat() const { return options_.repeat; }

  // Runs `work` `repeat` times, each time after everything queued before is finished, and returns the shortest time in
  // seconds, because other work of the machine can only make it longer. Operations that `work` does not wait for are
  // not measured.
  double shortest_s(const std::function<void()>& work) const;
  // Does the same, prints the time and keeps it for the data.
  double benchmark(const std::string& name, const std::function<void()>& work);
  // Prints and keeps a time that was measured in another way.
  void note(const std::string& name, double seconds);
  // Prints a line of text.
  void print(std::string_view text) const;

  // Prints the sentence and whether it holds, and keeps both with the figures that it was computed from.
  void claim(bool holds, const std::string& sentence, const Json& figures, About about = About::time);

  // Says why nothing can be measured on this machine. A demonstration that calls it makes no claims.
  void skip(const std::string& reason);

  // Draws the picture that --plot asks for.
  void chart(const Chart& chart);
  // Records `work`, which must wait for what it queues, for --trace and as the picture that --plot asks for. Runs
  // nothing if neither is asked for.
  void timeline(const std::string& title, const std::function<void()>& work);
  // Does the same for --trace alone, in a demonstration whose picture is a chart.
  void trace(const std::function<void()>& work);

  // Writes the data that --json asks for. Returns the exit status: 1 if a claim about values does not hold or a file
  // could not be written.
  int finish();

 private:
  // Calls `write`, which writes a file. If that fails it says so, and the demonstration goes on.
  void save(const std::function<void()>& write);
  // Records `work`, writes the trace if it is asked for, and returns it.
  Json record(const std::function<void()>& work) const;
  Json results() const;

  std::string name_;
  DemoOptions options_;
  Json benchmarks_ = Json::array(), claims_ = Json::array();
  bool failed_ = false;
  std::string skipped_;
};

// Reads the command line, runs `show`, and returns the exit status of the program.
int demonstrate(int argc, char** argv, void (*show)(Demo&));

// Whether two tensors of float32 have the same shape and bits. Waits for both.
bool same_bits(const asyncgrad::Tensor& a, const asyncgrad::Tensor& b);

}  // namespace support
