// The profiler's summary: what took time, and how much was computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "asyncgrad/asyncgrad.h"
#include "tests/core/engine/fake_device.h"
#include "tests/core/engine/gate.h"
#include "tests/core/recorded_trace.h"

namespace asyncgrad::tests {
namespace {

class ProfilerSummary : public RecordsTraces {};

TEST_F(ProfilerSummary, AddsUp) {
  set_engine_options({.workers = 2});
  trace_of([] { train(5); });
  std::map<std::string, profiler::OperationTimes> by_name;
  for (const profiler::OperationTimes& times : summary_.operations) by_name[times.name] = times;
  EXPECT_EQ(by_name.at("sgd").count, 5);
  EXPECT_EQ(by_name.at("sgd").kind, "updates");
  EXPECT_EQ(by_name.at("normal").kind, "random");
  EXPECT_EQ(by_name.at("dense").kind, "products");
  EXPECT_EQ(by_name.at("dense").flops, 5 * 2.0 * 256 * (64 * 128 + 128));
  EXPECT_EQ(by_name.at("normal").operand_bytes, 5 * 256 * 64 * 4.0);
  EXPECT_NEAR(summary_.total_s(), 2 * summary_.elapsed_s + summary_.elapsed_s - summary_.front_end_wait_s,
              1e-6 * summary_.elapsed_s);
  EXPECT_GE(summary_.idle_s, 0);
  EXPECT_GE(summary_.front_end_s, 0);
}

TEST_F(ProfilerSummary, CountsFloatingPointOperations) {
  trace_of([] {
    const Tensor x = parameter(ones({2, 4, 5, 6})), weight = parameter(ones({6, 2, 3, 2}));
    conv2d(x, weight, {}, {.padding = {1, 0}, .groups = 2}).backward(ones({2, 6, 5, 5}));
    conv_transpose1d(ones({2, 3, 7}), ones({3, 4, 5}));
    const Tensor q = parameter(ones({2, 3, 8, 16})), k = ones({2, 3, 10, 16}), v = ones({2, 3, 10, 4});
    scaled_dot_product_attention(q, k, v).backward(ones({2, 3, 8, 4}));
    scaled_dot_product_attention(q.detach(), q.detach(), q.detach(), {.causal = true});
  });
  std::map<std::string, double> flops;
  for (const profiler::OperationTimes& times : summary_.operations) flops[times.name] = times.flops;
  for (const char* name : {"conv2d", "conv2d_input_grad", "conv2d_weight_grad"}) {
    EXPECT_EQ(flops.at(name), 2.0 * (2 * 6 * 5 * 5) * (2 * 3 * 2)) << name;
  }
  EXPECT_EQ(flops.at("conv_transpose1d"), 2.0 * (2 * 3 * 7) * (4 * 5));
  EXPECT_EQ(flops.at("attention"), 2.0 * 6 * 8 * 10 * (16 + 4) + 2.0 * 6 * (8 * 9 / 2) * (16 + 16));
  EXPECT_EQ(flops.at("attention_grad"), 2.0 * 6 * 8 * 10 * (3 * 16 + 2 * 4));
  EXPECT_EQ(flops.at("fill"), 0);
}

TEST_F(ProfilerSummary, FilesEveryOperationUnderItsKind) {
  trace_of([] {
    const Tensor x = ones({2, 3, 4}), own = custom("doubled", {.shape = {2}}, {ones({2})}, [](const CustomCall&call) {
                                        for (const int i : {0, 1})
                                          call.output<float>()[i] = 2 * call.input<float>(0)[i];
                                      });
    for (const Tensor& y : {conv1d(x, ones({1, 3, 2})), conv2d(x.reshape({1, 2, 3, 4}), ones({1, 2, 2, 2})),
                            layer_norm(x), rms_norm(x), softmax(x, 1), randint(0, 5, {3}), permutation(4), own, sum(x),
                            cumsum(x, 0), argmax(x), x.transpose(0, 1).clone(), exp(x), matmul(x, ones({4, 2}))}) {
      y.wait();
    }
  });
  std::map<std::string, std::string> kinds;
  for (const profiler::OperationTimes& times : summary_.operations) kinds[times.name] = times.kind;
  const std::map<std::string, std::string> expected{
      {"conv1d", "convolutions"},    {"conv2d", "convolutions"},   {"layer_norm", "normalisation"},
      {"rms_norm", "normalisation"}, {"softmax", "normalisation"}, {"randint", "random"},
      {"permutation", "random"},     {"doubled", "custom"},        {"sum", "reductions"},
      {"cumsum", "reductions"},      {"argmax", "reductions"},     {"transpose", "fills and copies"},
      {"fill", "fills and copies"},  {"exp", "elementwise"},       {"matmul", "products"}};
  for (const auto& [name, kind] : expected) {
    ASSERT_TRUE(kinds.contains(name)) << name;
    EXPECT_EQ(kinds.at(name), kind) << name;
  }
}

TEST_F(ProfilerSummary, TellsWhatAdmissionHoldsBack) {
  // The only worker is held before it computes the first operation. This thread finds that the third one must wait for
  // it.
  set_engine_options({.workers = 1, .memory_budget = MemoryBudget::bytes(100'000), .inline_tiny = false});
  Tensor x, y;
  trace_of([&] {
    Gate gate(1);
    x = full({10000}, 0);
    gate.wait_until_held();
    x = full({10000}, 1);
    y = full({10000}, 2);
    detail::Engine::get().queue().offer_staged();
    detail::Executor& executor = *detail::device_state(Device()).executor;
    detail::Turn turn;
    EXPECT_TRUE(executor.run_one(turn));
    EXPECT_FALSE(executor.run_one(turn));
  });
  EXPECT_GT(summary_.held_back_s, 0);
  EXPECT_LE(summary_.held_back_s, summary_.elapsed_s);
}

TEST_F(ProfilerSummary, IsATableThatNamesWhatTookTime) {
  set_engine_options({.workers = 2});
  trace_of([] { train(2); });
  const std::string table = summary_.str();
  for (const char* name : {"products", "  dense", "elementwise", "random", "  normal", "held back by admission", "idle",
                           "front end", "GFLOP/s"}) {
    EXPECT_THAT(table, testing::HasSubstr(name));
  }
}

}  // namespace
}  // namespace asyncgrad::tests
