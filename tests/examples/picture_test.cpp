#include "examples/support/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Picture, AChartHasALineASeries) {
  const Chart chart{.title = "Gains",
                    .x_label = "size",
                    .y_label = "times",
                    .series = {{"one", {{16, 1.5}, {32, 2}}}, {"two", {{16, 1}}}},
                    .log_x = true};
  const std::string program = chart_plot(chart, "a.svg");
  EXPECT_THAT(program, AllOf(HasSubstr("set terminal svg"), HasSubstr("set title 'Gains'"), HasSubstr("set logscale x"),
                             Not(HasSubstr("set logscale y")), HasSubstr("$d0 << EOD\n16 1.5\n32 2\nEOD\n"),
                             HasSubstr("$d1 << EOD\n16 1\nEOD\n"), HasSubstr("title 'two'")));
  EXPECT_THAT(chart_plot(chart, "a.png"), HasSubstr("set terminal pngcairo"));
}

Json thread(int number, const char* name, int place) {
  return {{{"ph", "M"}, {"tid", number}, {"name", "thread_name"}, {"args", {{"name", name}}}},
          {{"ph", "M"}, {"tid", number}, {"name", "thread_sort_index"}, {"args", {{"sort_index", place}}}}};
}

Json trace_of_threads() {
  Json events = Json::array();
  for (const Json& row : {thread(1, "worker 1", 2), thread(2, "front end", 0), thread(3, "worker 2", 2)}) {
    for (const Json& event : row) events.push_back(event);
  }
  return {{"traceEvents", events}};
}

TEST(Picture, ATimelineHasARowForEachThreadThatDidSomething) {
  Json trace = trace_of_threads();
  Json& events = trace["traceEvents"];
  const auto span = [&](int thread, const char* category, const char* name, double begin_us) {
    events.push_back(
        {{"ph", "X"}, {"tid", thread}, {"cat", category}, {"name", name}, {"ts", begin_us}, {"dur", 500.0}});
  };
  events.push_back({{"ph", "i"}, {"tid", 2}, {"cat", "queued"}, {"name", "queue add"}, {"ts", 250.0}});
  span(2, "wait", "wait", 1000);
  span(1, "operation", "add", 2000);
  span(1, "tile", "add", 3000);
  const std::string program = timeline_plot(trace, "Adding", "a.svg");
  EXPECT_THAT(program, HasSubstr("set ytics ('front end' 0, 'worker 1' 1)"));
  EXPECT_THAT(program, HasSubstr("<< EOD\n0 1.000000 1.500000\nEOD\n"));
  EXPECT_THAT(program, HasSubstr("<< EOD\n1 2.000000 2.500000\n1 3.000000 3.500000\nEOD\n"));
  EXPECT_THAT(program, HasSubstr("$ticks << EOD\n0 0.250000 0.250000\nEOD\n"));
  EXPECT_THAT(program, AllOf(HasSubstr("title 'waiting'"), HasSubstr("title 'add'"), HasSubstr("title 'queued'")));
}

TEST(Picture, OperationsBeyondTheColorsAreDrawnTogether) {
  Json trace = trace_of_threads();
  for (int i = 0; i < 7; ++i) {
    trace["traceEvents"].push_back({{"ph", "X"},
                                    {"tid", 1},
                                    {"cat", "operation"},
                                    {"name", "operation" + std::to_string(i)},
                                    {"ts", 10.0 * i},
                                    {"dur", 1.0 + i}});
  }
  EXPECT_THAT(timeline_plot(trace, "Many", "a.svg"),
              AllOf(HasSubstr("title 'operation6'"), HasSubstr("title 'operation2'"),
                    Not(HasSubstr("title 'operation1'")), HasSubstr("title 'others'")));
}

TEST(Picture, OfNothingThereIsNone) { EXPECT_EQ(timeline_plot(trace_of_threads(), "Nothing", "a.svg"), ""); }

}  // namespace
}  // namespace support
