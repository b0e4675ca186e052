// Tries a fault at every place of a training step. After a failure the first cause surfaces, nothing hangs or leaks,
// and after recover() training goes on as if the failed step had not been. A delay changes nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/engine.h"
#include "tests/core/engine/gate.h"
#include "tests/support/network.h"
#include "tests/support/print_options.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::tests {
namespace {

// How many operations run before one throws or is late, and how many blocks of memory are taken before one is refused.
// Negative: there is no fault.
std::atomic<int> operations_left{-1}, blocks_left{-1};

bool is_its_turn() { return operations_left.load() >= 0 && operations_left.fetch_sub(1) == 0; }
void fail_operation(std::uint64_t) {
  if (is_its_turn()) throw std::runtime_error("injected");
}
// The delay is much longer than the whole step takes.
void delay_operation(std::uint64_t) {
  if (is_its_turn()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
}
// The block is refused again and again, as by a system without memory, until stop_faults().
bool refuse_block(std::int64_t) {
  int left = blocks_left.load();
  while (left > 0 && !blocks_left.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}

class Faults : public testing::TestWithParam<EngineOptions> {
 protected:
  Faults() { set_options(/*cpu_parts=*/1); }
  ~Faults() override {
    stop_faults();
    recover();
    set_engine_options({});
  }
  static void set_options(int cpu_parts) {
    EngineOptions options = GetParam();
    options.cpu_parts = cpu_parts;
    set_engine_options(options);
  }
  static void stop_faults() {
    operations_left = -1;
    blocks_left = -1;
    detail::Engine::get().set_hook(nullptr);
    detail::device_state(Device()).allocator.set_fault(nullptr);
  }
};

template <class Optimizer>
class Training {
 public:
  // The second layer is on the device `second`, which is the default or "cpu:1".
  explicit Training(Device second = Device()) {
    manual_seed(7);
    net_ = nn::Sequential{nn::Dense(24, 32, relu)};
    if (second != Device()) net_.add([](const Tensor& x) { return x.to("cpu:1"); });
    net_.add(nn::Dense(32, 3, {}, {.device = second}));
    optimizer_.emplace(nn::parameters(net_), options());
    x_ = randn({16, 24});
    labels_ = argmax(randn({16, 3}), 1).to(second);
  }
  Tensor step() {
    const Tensor loss = mean(nn::softmax_cross_entropy(net_(x_), labels_));
    optimizer_->zero_grad();
    loss.backward();
    optimizer_->step();
    return loss;
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> values;
    for (const Tensor& parameter : nn::parameters(net_)) values.push_back(parameter.to_vector<float>());
    return values;
  }

 private:
  static auto options() {
    if constexpr (std::is_same_v<Optimizer, optim::SGD>) {
      return optim::SGDOptions{.lr = 0.1, .momentum = 0.9};
    } else {
      return optim::AdamOptions{.lr = 0.1};
    }
  }

  nn::Sequential net_;
  std::optional<Optimizer> optimizer_;
  Tensor x_, labels_;
};

// The training of a network with many kinds of operations. Every step draws the same random numbers.
class NetworkTraining {
 public:
  Tensor step() {
    generator_ = Generator(5);
    const Tensor loss = mean(square(net_(x_)));
    sgd_.zero_grad();
    loss.backward();
    optim::clip_norm(sgd_.parameters(), 1);
    sgd_.step();
    return loss;
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> values;
    for (const Tensor& parameter : sgd_.parameters()) values.push_back(parameter.to_vector<float>());
    return values;
  }

 private:
  Generator generator_{3};
  Network net_{generator_};
  optim::SGD sgd_{nn::parameters(net_), {.lr = 0.1, .momentum = 0.9}};
  Tensor x_ = randn({4, 1, 8, 8}, {.generator = &generator_});
};

// The parameters after `steps` undisturbed steps, and the memory that is live then.
struct Outcome {
  std::vector<std::vector<float>> values;
  std::int64_t live_bytes;
};
template <class Training>
Outcome after(int steps) {
  Training training;
  for (int i = 0; i < steps; ++i) training.step();
  auto values = training.values();
  mark().wait();
  return {std::move(values), memory_figures().live_bytes};
}

// Which places of a step have a fault.
struct Places {
  int first = 0, step = 1;
};

// Runs a step after `steps_before` undisturbed ones, with a fault at one place after another, which `arm(n)` sets, until
// the step succeeds because it has fewer places.
template <class Training, class Arm>
void fault_everywhere(int steps_before, Arm arm, const char* cause, Places places = {}) {
  const Outcome start = after<Training>(steps_before), next = after<Training>(steps_before + 1),
                one_more = after<Training>(steps_before + 2);
  int n = places.first;
  for (bool came_through = false; !came_through; n += places.step) {
    ASSERT_LT(n, 1000);
    Training training;
    for (int i = 0; i < steps_before; ++i) training.step();
    mark().wait();
    arm(n);
    Tensor loss, other;
    std::string message;
    try {
      loss = training.step();
      wait_all();
      came_through = true;
    } catch (const Error& error) {
      message = error.what();
    }
    operations_left = -1;
    blocks_left = -1;
    mark().wait();
    if (came_through) break;
    EXPECT_NE(message.find(cause), std::string::npos) << message;
    EXPECT_NE(message.find("operands: "), std::string::npos) << message;
    const bool is_in_network = message.find("queued at network.h") != std::string::npos;
    EXPECT_TRUE(is_in_network || message.find("queued at faults_test.cpp") != std::string::npos) << message;
    other = ones({4, 4}) + 1;
    EXPECT_EQ(other.to_vector<float>(), std::vector<float>(16, 2));  // what depends on nothing that failed
    recover();
    // The update is one operation, which was done as a whole or not at all.
    const auto values = training.values();
    const bool was_updated = values == next.values;
    if (!was_updated) {
      EXPECT_EQ(values, start.values) << "fault " << n;
    }
    loss = Tensor();
    other = Tensor();
    training.step();
    EXPECT_EQ(training.values(), was_updated ? one_more.values : next.values) << "fault " << n;
    training.step();
    mark().wait();
    EXPECT_EQ(memory_figures().live_bytes, next.live_bytes) << "fault " << n;
  }
  EXPECT_GT(n, 8);  // so many operations a step has at least
}

// Tries faults in the first step, when the optimiser's state is new, and in a later one.
template <class Arm>
void fault_everywhere(Arm arm, const char* cause) {
  fault_everywhere<Training<optim::SGD>>(0, arm, cause);
  fault_everywhere<Training<optim::SGD>>(1, arm, cause);
  fault_everywhere<Training<optim::Adam>>(0, arm, cause);
}

TEST_P(Faults, EveryOperationMayThrow) {
  detail::Engine::get().set_hook(fail_operation);
  fault_everywhere([](int n) { operations_left = n; }, "injected");
}

TEST_P(Faults, EveryBlockMayBeRefused) {
  detail::device_state(Device()).allocator.set_fault(refuse_block);
  fault_everywhere([](int n) { blocks_left = n; }, "out of memory");
}

// Under the thread sanitizer, which is slow, each place has its turn in one of the three ways.
class FaultsOfNetworks : public Faults {
 protected:
  static Places places() {
    if (!looks_for_races) return {};
    return {.first = GetParam().workers / 2, .step = 3};  // of 1, 2 and 4 workers
  }
};

TEST_P(FaultsOfNetworks, EveryOperationMayThrow) {
  detail::Engine::get().set_hook(fail_operation);
  fault_everywhere<NetworkTraining>(
      1, [](int n) { operations_left = n; }, "injected", places());
}

TEST_P(FaultsOfNetworks, EveryBlockMayBeRefused) {
  detail::device_state(Device()).allocator.set_fault(refuse_block);
  fault_everywhere<NetworkTraining>(
      1, [](int n) { blocks_left = n; }, "out of memory", places());
}

// Delays each operation of a step in turn.
void delay_everywhere(Device second, const std::vector<std::vector<float>>& expected) {
  int n = 0;
  for (bool was_late = true; was_late; ++n) {
    ASSERT_LT(n, 1000);
    Training<optim::SGD> training(second);
    training.step();
    mark().wait();
    operations_left = n;
    training.step();
    EXPECT_EQ(training.values(), expected) << "delay " << n;
    mark().wait();
    was_late = operations_left.exchange(-1) < 0;
  }
  EXPECT_GT(n, 8);
}

TEST_P(Faults, EveryOperationMayBeLate) {
  const auto expected = after<Training<optim::SGD>>(2).values;
  detail::Engine::get().set_hook(delay_operation);
  delay_everywhere(Device(), expected);
}

// Two parts of the CPU give the bits of one device, too.
TEST_P(Faults, EveryOperationOnTwoPartsMayBeLate) {
  const auto expected = after<Training<optim::SGD>>(2).values;
  set_options(/*cpu_parts=*/2);
  detail::Engine::get().set_hook(delay_operation);
  delay_everywhere("cpu:1", expected);
}

// More operations wait for memory than a thread tries one after another. The one whose memory they wait for is among
// them.
TEST(OutOfMemory, EndsForAllThatWaitOnceThereIsMemory) {
  for (const Schedule schedule : {Schedule::first_ready, Schedule::oldest_first}) {
    set_engine_options({.workers = 2, .schedule = schedule, .inline_tiny = false});
    static std::atomic<bool> is_refused{false};
    is_refused = false;
    std::vector<Tensor> results;
    {
      Gate gate;
      results.push_back(full({1000}, 1));
      gate.wait_until_held();
      is_refused = true;
      detail::device_state(Device()).allocator.set_fault([](std::int64_t) { return is_refused.load(); });
      for (int i = 0; i < 300; ++i) results.push_back(full({1000}, 2));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      is_refused = false;
      gate.open();
    }
    EXPECT_EQ(results.front().to_vector<float>(), std::vector<float>(1000, 1));
    for (std::size_t i = 1; i < results.size(); ++i) {
      EXPECT_EQ(results[i].to_vector<float>(), std::vector<float>(1000, 2));
    }
    detail::device_state(Device()).allocator.set_fault(nullptr);
    set_engine_options({});
  }
}

EngineOptions way(int workers, Schedule schedule, bool inline_tiny) {
  return {.workers = workers, .schedule = schedule, .inline_tiny = inline_tiny};
}
INSTANTIATE_TEST_SUITE_P(Ways, Faults,
                         testing::Values(way(1, Schedule::oldest_first, true), way(1, Schedule::oldest_first, false),
                                         way(2, Schedule::oldest_first, true), way(2, Schedule::oldest_first, false),
                                         way(4, Schedule::oldest_first, false), way(2, Schedule::first_ready, false),
                                         way(4, Schedule::first_ready, true)));

INSTANTIATE_TEST_SUITE_P(Ways, FaultsOfNetworks,
                         testing::Values(way(1, Schedule::oldest_first, true), way(4, Schedule::oldest_first, false),
                                         way(2, Schedule::first_ready, false)));

}  // namespace
}  // namespace asyncgrad::tests
