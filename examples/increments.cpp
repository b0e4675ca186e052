// Ten thousand increments, each waited for or none: the book's formulas beside measured times.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "examples/support/demo.h"

namespace ag = asyncgrad;
using support::seconds_text;

// The book's three stages of one increment, in seconds: the front end queues it, the back end computes it, and the back
// end returns the result to the front end. The third is measured as the rest of a step that waits.
struct Stages {
  double t1, t2, t3;
};

// The times for one size: measured, and computed by the book's formulas.
struct Row {
  std::int64_t elements;
  Stages stages;
  double synchronous_s, asynchronous_s;              // measured
  double synchronous_formula, asynchronous_formula;  // n (t1 + t2 + t3), t1 + n t2 + t3
  double other_formula;                              // n t1 + t2 + t3: for a front end that is slower than the back end
};

void spin(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// The loops. In each step the front end takes some time by itself: none in C++, some microseconds in Python.
struct Loops {
  ag::Tensor x;
  std::int64_t n;
  double front_end_s;

  ag::Tensor step() const {
    if (front_end_s > 0) spin(front_end_s);
    return x + 1;
  }
  void synchronous() const {
    for (std::int64_t i = 0; i < n; ++i) step().wait();
  }
  void asynchronous() const {
    for (std::int64_t i = 0; i < n; ++i) step();
  }
};

// The time of one operation while the worker goes through a queue of them, or 0 if the queue was empty too early.
double time_of_one(double queued) {
  const auto left = [] {
    spin(10e-6);  // reading the figures too often would disturb the worker
    return static_cast<double>(ag::engine_figures().queued);
  };
  while (left() > 0.9 * queued) {
  }
  const double before = left();
  double after = before;
  ag::experiment::Timer timer;
  while ((after = left()) > 0.1 * queued) {
  }
  return before > after ? timer.stop() / (before - after) : 0;
}

// The worker is busy with an older product while the increments are queued, so that neither end waits for the other.
Stages measure_stages(const support::Demo& demo, const Loops& loops) {
  const std::int64_t side = demo.size({.small = 500, .usual = 2000, .book = 2000});
  const ag::Tensor other = ag::randn({side, side});
  const double n = static_cast<double>(loops.n);
  ag::experiment::Timer queueing;
  std::vector<double> t2;
  for (int i = 0; i < demo.repeat(); ++i) {
    ag::wait_all();
    const ag::Tensor older = ag::matmul(other, other);
    queueing.start();
    loops.asynchronous();
    queueing.stop();
    if (const double one_s = time_of_one(n); one_s > 0) t2.push_back(one_s);
  }
  const double step_s = demo.shortest_s([&] { loops.synchronous(); }) / n;
  const double t1_s = *std::ranges::min_element(queueing.times()) / n;
  const double t2_s = t2.empty() ? step_s - t1_s : *std::ranges::min_element(t2);
  return {t1_s, t2_s, step_s - t1_s - t2_s};
}

Row measure(support::Demo& demo, const Loops& loops) {
  const auto [t1, t2, t3] = measure_stages(demo, loops);
  const double n = static_cast<double>(loops.n);
  const Row row{.elements = loops.x.numel(),
                .stages = {t1, t2, t3},
                .synchronous_s = demo.shortest_s([&] { loops.synchronous(); }),
                .asynchronous_s = demo.shortest_s([&] {
                  loops.asynchronous();
                  ag::wait_all();
                }),
                .synchronous_formula = n * (t1 + t2 + t3),
                .asynchronous_formula = t1 + n * t2 + t3,
                .other_formula = n * t1 + t2 + t3};
  demo.print(fmt::format("{:>8} {:>8.0f} {:>8.0f} {:>8.0f} {:>12} {:>12} {:>12} {:>12} {:>12}", row.elements, t1 * 1e9,
                         t2 * 1e9, t3 * 1e9, seconds_text(row.synchronous_s), seconds_text(row.synchronous_formula),
                         seconds_text(row.asynchronous_s), seconds_text(row.asynchronous_formula),
                         seconds_text(row.other_formula)));
  return row;
}

std::vector<Row> measure_all(support::Demo& demo, const std::string& what, std::int64_t n, double front_end_s) {
  demo.print(fmt::format("{}\n{:>8} {:>8} {:>8} {:>8} {:>12} {:>12} {:>12} {:>12} {:>12}", what, "elements", "t1 (ns)",
                         "t2 (ns)", "t3 (ns)", "synchronous", "n(t1+t2+t3)", "asynchronous", "t1+n t2+t3",
                         "n t1+t2+t3"));
  std::vector<Row> rows;
  for (const std::int64_t elements : {2, 256, 1024, 4096, 16'384, 65'536}) {
    rows.push_back(measure(demo, {ag::ones({1, elements}), n, front_end_s}));
  }
  return rows;
}

// The factor, at least 1, by which a formula differs from the measured time.
double off(double formula_s, double measured_s) { return std::max(formula_s / measured_s, measured_s / formula_s); }

support::Json figures_of(const Row& row) {
  return {{"elements", row.elements},
          {"t1_s", row.stages.t1},
          {"t2_s", row.stages.t2},
          {"t3_s", row.stages.t3},
          {"synchronous_s", row.synchronous_s},
          {"synchronous_formula_s", row.synchronous_formula},
          {"asynchronous_s", row.asynchronous_s},
          {"asynchronous_formula_s", row.asynchronous_formula},
          {"other_formula_s", row.other_formula}};
}

void claim_gain(support::Demo& demo, const Row& row, std::int64_t n) {
  demo.claim(row.asynchronous_s < row.synchronous_s,
             fmt::format("Waiting once is faster than waiting {} times: {} instead of {} with {} elements.", n,
                         seconds_text(row.asynchronous_s), seconds_text(row.synchronous_s), row.elements),
             figures_of(row));
}

// Answers the exercise: why does the book assume n t2 > (n - 1) t1? `tiny` and `large` lie on either side of that line.
void claim_both_sides(support::Demo& demo, const Row& tiny, const Row& large, std::int64_t n) {
  const auto is_assumed = [](const Row& row) { return row.asynchronous_formula > row.other_formula; };
  demo.claim(
      is_assumed(large) && off(large.asynchronous_formula, large.asynchronous_s) < 1.25,
      fmt::format("Where {0} t2 > {1} t1, the loop without waits takes t1 + {0} t2 + t3: {2} by the formula, {3} "
                  "measured, with {4} elements.",
                  n, n - 1, seconds_text(large.asynchronous_formula), seconds_text(large.asynchronous_s),
                  large.elements),
      figures_of(large));
  demo.claim(
      !is_assumed(tiny) && off(tiny.other_formula, tiny.asynchronous_s) < 1.25,
      fmt::format(
          "Elsewhere the back end waits for the front end and the loop takes {} t1 + t2 + t3: {} by this formula, "
          "{} by the book's, {} measured, with {} elements. That is why the book assumes it.",
          n, seconds_text(tiny.other_formula), seconds_text(tiny.asynchronous_formula),
          seconds_text(tiny.asynchronous_s), tiny.elements),
      figures_of(tiny));
}

void draw(support::Demo& demo, const std::vector<Row>& rows, std::int64_t n) {
  support::Chart chart{.title = fmt::format("{} increments, 2 us for a step of the front end", n),
                       .x_label = "elements of the tensor",
                       .y_label = "time (s)",
                       .series = {{"synchronous", {}},
                                  {"asynchronous", {}},
                                  {"t1 + n t2 + t3", {}},
                                  {"n t1 + t2 + t3", {}},
                                  {"n (t1 + t2 + t3)", {}}},
                       .log_x = true,
                       .log_y = true};
  for (const Row& row : rows) {
    const double values[] = {row.synchronous_s, row.asynchronous_s, row.asynchronous_formula, row.other_formula,
                             row.synchronous_formula};
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      chart.series[i].points.emplace_back(static_cast<double>(row.elements), values[i]);
    }
  }
  demo.chart(chart);
}

void show(support::Demo& demo) {
  const std::int64_t n = demo.size({.small = 500, .usual = 10'000, .book = 10'000});
  ag::EngineOptions options = ag::engine_options();
  const ag::EngineOptions first_options = options;
  options.workers = 1;          // the book's back end is one thread
  options.inline_tiny = false;  // else the front end would compute the small increments itself
  ag::set_engine_options(options);

  const std::vector<Row> rows = measure_all(demo, "A front end that only queues", n, 0);
  claim_gain(demo, rows.front(), n);
  claim_gain(demo, rows.back(), n);
  const std::vector<Row> slow =
      measure_all(demo, "A front end that takes 2 us a step by itself, as Python may", n, 2e-6);
  claim_both_sides(demo, slow.front(), slow.back(), n);
  draw(demo, slow, n);
  const ag::Tensor x = ag::ones({1, 2});
  demo.trace([&] {
    Loops{x, 100, 0}.asynchronous();
    ag::wait_all();
  });

  ag::set_engine_options(first_options);
  const double at_call_s = demo.benchmark("asynchronous, small operations computed at the call", [&] {
    Loops{x, n, 0}.asynchronous();
    ag::wait_all();
  });
  demo.claim(
      at_call_s < rows.front().asynchronous_s,
      fmt::format("Computing such small operations at the call is faster than handing them over: {} instead of {}.",
                  seconds_text(at_call_s), seconds_text(rows.front().asynchronous_s)),
      {{"at_call_s", at_call_s}, {"queued_s", rows.front().asynchronous_s}});
}

int main(int argc, char** argv) { return support::demonstrate(argc, argv, show); }
