#include "asyncgrad/core/graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/gate.h"

namespace asyncgrad::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Graph : public testing::Test {
 protected:
  Graph() { set_engine_options({.workers = 2, .inline_tiny = false}); }
  ~Graph() override { set_engine_options({}); }

  // "operation7": the operation that is queued `behind` operations after the next one.
  static std::string id(int behind) {
    return fmt::format("operation{}", detail::Engine::get().next_number() + static_cast<std::uint64_t>(behind));
  }
  static std::string number(const std::string& id) { return fmt::format("#{}", id.substr(9)); }
};

TEST_F(Graph, ShowsTheChaptersExample) {
  const Inference inference;
  const Tensor x = ones({1, 2}), y = ones({1, 2});
  wait_all();
  Gate gate(2);
  const std::string times = id(0), plus = id(1);
  const Tensor z = x * y + 2;
  constexpr const char* expected = R"(digraph asyncgrad {{
  rankdir=LR;
  node [shape=box];
  tensor [label="(1, 2) float32", style=bold];
  {0} [label="multiply\n(1, 2)\n{1}"];
  value0 [label="(1, 2) float32", shape=ellipse];
  value0 -> {0};
  value1 [label="(1, 2) float32", shape=ellipse];
  value1 -> {0};
  {2} [label="add\n(1, 2)\n{3}"];
  {0} -> {2};
  {2}number1 [label="2", shape=plaintext];
  {2}number1 -> {2};
  {2} -> tensor;
}}
)";
  EXPECT_EQ(to_dot(z), fmt::format(fmt::runtime(expected), times, number(times), plus, number(plus)));
  gate.open();
  z.wait();
  EXPECT_EQ(to_dot(z),
            "digraph asyncgrad {\n  rankdir=LR;\n  node [shape=box];\n"
            "  tensor [label=\"(1, 2) float32\", style=bold];\n}\n");
}

TEST_F(Graph, HasWhatTheTensorWaitsForAndNothingElse) {
  const Inference inference;
  const Tensor x = ones({4, 4});
  wait_all();
  Gate gate(4);
  const std::string square = id(0), unrelated = id(1), product = id(2), later = id(3);
  const Tensor y = x * x;
  const Tensor other = exp(y);
  const Tensor z = matmul(y, x);
  const Tensor w = z + 1;
  const std::string graph = to_dot(z);
  EXPECT_THAT(graph, AllOf(HasSubstr(square + " -> " + product), HasSubstr("value0 -> " + square),
                           HasSubstr("value0 -> " + product), Not(HasSubstr(unrelated)), Not(HasSubstr(later))));
  EXPECT_THAT(to_dot(other), AllOf(HasSubstr(square + " -> " + unrelated), Not(HasSubstr(product))));
}

TEST_F(Graph, FollowsWritesInPlaceAndViews) {
  const Inference inference;
  Tensor x = ones({4, 4});
  wait_all();
  Gate gate(4);
  const std::string first = id(0), second = id(1), third = id(2), fourth = id(3);
  x += 1;
  x.slice(0, 2) *= 3;
  const Tensor y = x.slice(1, 3).reshape({8}) - 1;
  x.fill_(0);
  EXPECT_THAT(to_dot(y), AllOf(HasSubstr(first + " -> " + second), HasSubstr(second + " -> " + third),
                               HasSubstr("tensor [label=\"(8) float32\""), Not(HasSubstr(fourth))));
  EXPECT_THAT(to_dot(x),
              AllOf(HasSubstr(second + " -> " + fourth + " [style=dashed]"), HasSubstr(fourth + " -> tensor")));
}

TEST_F(Graph, WorksWhileWorkersRun) {
  const Inference inference;
  Tensor y = ones({100});
  for (int i = 0; i < 300; ++i) {
    y = y * 0.5 + y;
    EXPECT_THAT(to_dot(y), AllOf(HasSubstr("digraph"), HasSubstr("tensor [label=\"(100) float32\"")));
  }
}

TEST_F(Graph, OfNothingThrows) {
  try {
    to_dot(Tensor{});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[to_dot] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  }
}

}  // namespace
}  // namespace asyncgrad::tests
