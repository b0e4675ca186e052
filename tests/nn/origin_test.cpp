// Whatever fails in a layer, the message names the line of the program, not one of the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "asyncgrad/core/engine/engine.h"
#include "tests/nn/layer_cases.h"

namespace asyncgrad::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::atomic<int> operations_left{-1};  // before the one that fails
void fail_operation(std::uint64_t) {
  if (operations_left.load() >= 0 && operations_left.fetch_sub(1) == 0) throw std::runtime_error("injected");
}

class LayerOrigins : public testing::TestWithParam<LayerCase> {
 protected:
  void SetUp() override {
    set_engine_options({.inline_tiny = false});
    detail::Engine::get().set_hook(fail_operation);
  }
  void TearDown() override {
    operations_left = -1;
    detail::Engine::get().set_hook(nullptr);
    recover();
    set_engine_options({});
  }
  // The initial values, training and evaluation.
  static void run_layer() {
    Generator generator(5);
    const nn::Sequential layer = GetParam().make(&generator);
    const Tensor x = GetParam().draw_input(), y = layer(x);
    if (y.requires_grad()) sum(square(y)).backward();
    const Evaluation evaluation;
    static_cast<void>(layer(x));
    wait_all();
  }
};

TEST_P(LayerOrigins, AreLinesOfTheProgram) {
  for (int n = 0;; ++n) {
    ASSERT_LT(n, 2000);
    operations_left = n;
    try {
      run_layer();
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_THAT(message, AnyOf(HasSubstr("queued at origin_test.cpp:"), HasSubstr("queued at layer_cases.h:")));
    }
    const bool came_through = operations_left.exchange(-1) >= 0;
    recover();
    if (came_through) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerOrigins, testing::ValuesIn(layer_cases()), name_of_layer);

}  // namespace
}  // namespace asyncgrad::tests
