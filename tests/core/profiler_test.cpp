#include "asyncgrad/core/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/fake_device.h"
#include "tests/core/engine/gate.h"
#include "tests/core/engine/random_program.h"
#include "tests/core/recorded_trace.h"
#include "tests/support/limited_files.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

class Profiler : public RecordsTraces {};

TEST_F(Profiler, EveryQueuedOperationHasOneSpanAndEveryFurtherTileOne) {
  set_engine_options({.workers = 3, .inline_tiny = false});
  const std::int64_t before = engine_figures().operations;
  const Trace trace = trace_of([] {
    train(5);
    const Tensor large = randn({1024, 1024});
    matmul(large, large).wait();
  });
  std::set<std::uint64_t> numbers;
  std::map<std::uint64_t, int> tiles;
  int max_tiles = 0;
  for (const TraceEvent& span : operations(trace)) {
    EXPECT_TRUE(numbers.insert(span.number()).second) << span;
    const int count = static_cast<int>(span.numbers.at("tiles"));
    tiles[span.number()] = count - 1;
    max_tiles = std::max(max_tiles, count);
  }
  EXPECT_EQ(static_cast<std::int64_t>(numbers.size()), engine_figures().operations - before);
  EXPECT_GT(max_tiles, 1);
  for (const TraceEvent& span : of_category(trace, "tile")) --tiles[span.number()];
  for (const auto& [number, missing] : tiles) EXPECT_EQ(missing, 0) << number;
}

TEST_F(Profiler, ASpanSaysWhatWasComputedAndWhen) {
  set_engine_options({.inline_tiny = false});
  const Tensor x = full({8, 2}, 1), w = full({2, 4}, 1);
  const Trace trace = trace_of([&] { matmul(x, w).wait(); });
  ASSERT_EQ(operations(trace).size(), 1U);
  const TraceEvent span = operations(trace)[0];
  EXPECT_EQ(span.name, "matmul");
  EXPECT_EQ(span.texts.at("operands"), "to (8, 4), (8, 2), (2, 4)");
  EXPECT_EQ(span.texts.at("dtype"), "float32");
  EXPECT_EQ(span.numbers.at("operand_bytes"), (32 + 16 + 8) * 4);
  EXPECT_THAT(span.texts.at("queued_at"), HasSubstr("profiler_test.cpp:"));
  EXPECT_LE(span.numbers.at("queued_us"), span.numbers.at("ready_us"));
  EXPECT_LE(span.numbers.at("ready_us"), span.numbers.at("started_us"));
  EXPECT_LE(span.numbers.at("started_us"), span.numbers.at("ended_us"));
  EXPECT_EQ(span.numbers.at("started_us"), span.begin_us);
}

TEST_F(Profiler, WhatRunsAtTheCallIsOnTheFrontEndsRow) {
  const std::int64_t before = engine_figures().inlined;
  const Trace trace = trace_of([] {
    Tensor y = zeros({1, 2});
    for (int i = 0; i < 5; ++i) y = y + 1;
  });
  const Trace spans = of_category(trace, "at call");
  EXPECT_EQ(static_cast<std::int64_t>(spans.size()), engine_figures().inlined - before);
  EXPECT_EQ(spans.size(), 6U);
  for (const TraceEvent& span : spans) EXPECT_EQ(row_names(trace).at(span.row), "front end");
}

TEST_F(Profiler, WorkersHaveRowsOfTheirOwn) {
  set_engine_options({.workers = 2, .inline_tiny = false});
  const Trace trace = trace_of([] {
    Gate gate(2);                                             // each holds one worker, as this thread does not compute
    const Tensor x = full({10000}, 1), y = full({10000}, 2);  // large enough to wake a thread
    gate.wait_until_begun(2);
  });
  std::set<std::string> rows;
  for (const TraceEvent& span : operations(trace)) rows.insert(row_names(trace).at(span.row));
  EXPECT_THAT(rows, testing::ElementsAre("cpu worker 1", "cpu worker 2"));
}

TEST_F(Profiler, RowsAreNamedAfterTheirStreams) {
  set_engine_options({.workers = 2, .inline_tiny = false, .cpu_parts = 2});
  const Trace trace = trace_of([] {
    Gate gate(0);
    const Tensor x = full({10000}, 1, {.device = "cpu:1"}), y = x.to("cpu:0");
    gate.wait_until_begun(2);  // and computes nothing meanwhile
  });
  std::map<std::string, std::string> rows;
  for (const TraceEvent& span : operations(trace)) rows[span.name] = row_names(trace).at(span.row);
  EXPECT_THAT(rows, testing::UnorderedElementsAre(testing::Pair("fill", "cpu:1 worker"),
                                                  testing::Pair("copy", "copies to cpu")));
}

// Expects that both ends of each arrow lie within spans of operations, and that the second operation is not computed
// before the first.
void expect_arrows_join_spans(const Trace& trace) {
  std::map<int, TraceEvent> begins;
  for (const TraceEvent& event : of_phase(trace, "s")) begins[event.id] = event;
  Trace spans = operations(trace), tiles = of_category(trace, "tile");
  spans.insert(spans.end(), tiles.begin(), tiles.end());
  const auto is_within_a_span = [&](const TraceEvent& end) {
    return std::ranges::any_of(spans, [&](const TraceEvent& span) {
      return span.row == end.row && span.begin_us <= end.begin_us + 1e-4 && end.begin_us <= span.end_us() + 1e-4;
    });
  };
  const Trace ends = of_phase(trace, "f");
  EXPECT_EQ(begins.size(), ends.size());
  for (const TraceEvent& end : ends) {
    ASSERT_TRUE(begins.contains(end.id));
    const TraceEvent& begin = begins[end.id];
    EXPECT_TRUE(is_within_a_span(begin)) << begin;
    EXPECT_TRUE(is_within_a_span(end)) << end;
    EXPECT_LE(begin.begin_us, end.begin_us) << end;
  }
}

TEST_F(Profiler, SpansNestAndArrowsJoinThem) {
  for (const bool inline_tiny : {true, false}) {
    set_engine_options({.workers = 2, .queue_capacity = 20, .inline_tiny = inline_tiny});
    const Trace trace = trace_of([] { train(5); });
    expect_nested(trace);
    expect_arrows_join_spans(trace);
    EXPECT_FALSE(of_phase(trace, "f").empty());
    EXPECT_FALSE(of_category(trace, "wait").empty()) << "the queue has room for 20";
  }
}

TEST_F(Profiler, ArrowsFollowTheDependencies) {
  set_engine_options({.workers = 1, .inline_tiny = false});
  const Tensor x = full({8}, 1);
  Tensor y, z;
  const Trace trace = trace_of([&] {
    Gate gate(3);
    y = x * 2;
    z = y + y;
    y += 1;  // after its last reader
  });
  const Trace spans = operations(trace);
  ASSERT_EQ(spans.size(), 3U);
  std::set<std::pair<std::string, std::string>> arrows;
  const auto name_at = [&](const TraceEvent& end) {
    const auto span = std::ranges::find_if(
        spans, [&](const TraceEvent& s) { return s.begin_us <= end.begin_us && end.begin_us <= s.end_us(); });
    return span == spans.end() ? "nothing" : span->texts.at("operands") + span->name;
  };
  std::map<int, TraceEvent> begins;
  for (const TraceEvent& event : of_phase(trace, "s")) begins[event.id] = event;
  for (const TraceEvent& end : of_phase(trace, "f")) arrows.insert({name_at(begins[end.id]), name_at(end)});
  const std::string times = "to (8), (8)multiply", plus = "to (8), (8), (8)add", update = "to (8), (8)add";
  EXPECT_THAT(arrows, testing::UnorderedElementsAre(testing::Pair(times, plus), testing::Pair(times, update),
                                                    testing::Pair(plus, update)));
}

TEST_F(Profiler, CountersFollowMemoryQueueAndBudget) {
  set_engine_options({.workers = 2, .inline_tiny = false});
  reset_peaks();
  const Trace trace = trace_of([] { train(3); });
  std::int64_t peak = 0, depth = 0, max_queued = 0;
  for (const TraceEvent& event : of_name(trace, "live memory")) {
    peak = std::max(peak, static_cast<std::int64_t>(event.numbers.at("bytes")));
  }
  EXPECT_EQ(peak, memory_figures().peak_live_bytes);
  for (const TraceEvent& event : of_name(trace, "queue depth")) {
    depth = static_cast<std::int64_t>(event.numbers.at("operations"));
    EXPECT_GE(depth, 0);
    max_queued = std::max(max_queued, depth);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_GE(max_queued, 1);
  const Trace budgets = of_name(trace, "budget");
  ASSERT_FALSE(budgets.empty());
  EXPECT_EQ(budgets.back().numbers.at("bytes"), memory_figures().budget_bytes);
}

TEST_F(Profiler, WhatFailedOrWasSkippedHasASpanThatSaysSo) {
  set_engine_options({.inline_tiny = false});
  const Tensor table = full({4, 2}, 1);
  const Trace trace = trace_of([&] {
    const Tensor rows = take(table, Tensor::from(std::vector<std::int64_t>{9}, {1}));
    EXPECT_THROW((rows + 1).wait(), Error);
    full({2}, 1).wait();
  });
  ASSERT_EQ(operations(trace).size(), 3U);
  for (const TraceEvent& span : operations(trace)) {
    EXPECT_EQ(span.texts.contains("failed"), span.name != "fill") << span;
  }
  recover();
}

TEST_F(Profiler, RandomProgramsAreRecordedWhole) {
  for (int seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const RandomDelays delays(static_cast<std::uint64_t>(seed));
    std::int64_t before = 0, after = 0;
    const Trace trace = trace_of([&] {
      before = engine_figures().operations;
      const bool trains = seed % 2 == 1;
      run_program(
          {.seed = static_cast<std::uint64_t>(seed), .steps = trains ? 6 : 60, .with_failures = true, .trains = trains},
          {.workers = 4, .queue_capacity = 9});
      after = engine_figures().operations;
    });
    const std::size_t at_call = of_category(trace, "at call").size();
    EXPECT_LE(static_cast<std::int64_t>(operations(trace).size() + at_call), after - before);
    EXPECT_GT(operations(trace).size(), 0U);
    expect_nested(trace);
    expect_arrows_join_spans(trace);
  }
}

TEST_F(Profiler, ManyThreadsAreRecordedAtOnce) {
  set_engine_options({.workers = 3, .inline_tiny = false});
  const Trace trace = trace_of([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        const Inference inference;
        Tensor y = full({100}, 1);
        for (int step = 0; step < 50; ++step) y = y * 0.5;
        y.wait();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(operations(trace).size(), 4U * 51U);
  expect_nested(trace);
}

TEST_F(Profiler, MayStopWhileOthersQueue) {
  set_engine_options({.workers = 2, .queue_capacity = 50, .inline_tiny = false});
  std::thread other([] {
    const Inference inference;
    Tensor y = full({100}, 1);
    for (int step = 0; step < 5000; ++step) y = y * 0.5;
    y.wait();
  });
  for (int i = 0; i < 20; ++i) {
    const Trace trace = trace_of([] { full({8}, 1).wait(); });
    const Trace spans = operations(trace);
    EXPECT_TRUE(std::ranges::any_of(spans, [](const TraceEvent& span) { return span.name == "fill"; }));
  }
  other.join();
}

TEST_F(Profiler, WrongUseThrows) {
  EXPECT_EQ(message_of([] { profiler::stop(); }), "[profiler] there is no recording to stop: call start() first");
  profiler::start();
  EXPECT_EQ(message_of([] { profiler::start(); }),
            "[profiler] a recording is under way: stop() comes before another start()");
  EXPECT_EQ(message_of([] { profiler::stop("/nonexistent/trace.json"); }),
            "[profiler] cannot write '/nonexistent/trace.json': No such file or directory");
  full({8}, 1).wait();
  EXPECT_EQ(profiler::stop().operations.size(), 1U) << "it went on";
  profiler::start();
  EXPECT_EQ(message_of([] { profiler::stop("/dev/full"); }),
            "[profiler] cannot write '/dev/full': No space left on device");
  EXPECT_EQ(message_of([] { profiler::stop(); }), "[profiler] there is no recording to stop: call start() first");
}

TEST_F(Profiler, ATraceThatDoesNotFitLeavesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.json");
  std::ofstream(path) << "old";
  profiler::start();
  full({8}, 1).wait();
  {
    const LimitedFiles limited(10);
    EXPECT_EQ(message_of([&] { profiler::stop(path); }), "[profiler] cannot write '" + path + "': File too large");
  }
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "old");
}

TEST_F(Profiler, OnlyWhatIsBetweenStartAndStopIsRecorded) {
  set_engine_options({.inline_tiny = false});
  Tensor x = full({8}, 1);
  const Trace trace = trace_of([&] { x += 1; });
  x += 1;
  x.wait();
  EXPECT_EQ(operations(trace).size(), 1U);
  EXPECT_EQ(operations(trace_of([] {})).size(), 0U);
}

}  // namespace
}  // namespace asyncgrad::tests
