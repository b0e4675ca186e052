// Trainings in parts, with threads as ranks: the same bits on any number of them.
#include "asyncgrad/dist/parts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/dist/random_training.h"
#include "tests/dist/thread_transport.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

TEST(Parts, TrainWithTheSameBitsOnAnyNumberOfRanks) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::string alone = trained_as(dist::World(), seed, 8, 4);
    for (const int ranks : {1, 2, 4, 8}) {
      EXPECT_TRUE(trained(ranks, seed) == alone) << ranks << " ranks, seed " << seed;
    }
    EXPECT_TRUE(trained(2, seed, 2) == trained_as(dist::World(), seed, 2, 4)) << "2 parts, seed " << seed;
  }
}

TEST(Parts, TrainWithTheSameBitsUnderEveryScheduleAndBudget) {
  const std::string expected = trained_as(dist::World(), 0, 8, 4);
  const EngineOptions before = engine_options();
  for (const Schedule schedule : {Schedule::first_ready, Schedule::immediate}) {
    EngineOptions options = before;
    options.schedule = schedule;
    set_engine_options(options);
    for (const int ranks : {1, 4}) EXPECT_TRUE(trained(ranks, 0) == expected) << name_of(schedule) << ", " << ranks;
  }
  for (const MemoryBudget budget : {MemoryBudget::bytes(0), MemoryBudget::bytes(20'000), MemoryBudget::unbounded()}) {
    EngineOptions options = before;
    options.memory_budget = budget;
    set_engine_options(options);
    EXPECT_TRUE(trained_as(dist::World(), 0, 8, 4) == expected);
  }
  set_engine_options(before);
}

// The average is what a program would compute by hand.
TEST(Parts, AverageByABinaryTree) {
  const Tensor weight = parameter(zeros({3}));
  optim::SGD sgd({weight}, {.lr = 1});
  std::vector<float> terms;
  for (int part = 0; part < 8; ++part) terms.push_back(1 / (1.0F + static_cast<float>(part)));
  const auto pair = [&](std::size_t i) { return terms[i] + terms[i + 1]; };
  const float expected = ((pair(0) + pair(2)) + (pair(4) + pair(6))) / 8;
  for (const int ranks : {1, 2, 4, 8}) {
    as_ranks(ranks, [&](const dist::World& world) {
      const Tensor w = parameter(zeros({3}));
      optim::SGD own({w}, {.lr = 1});
      dist::Parts parts(world, 8);
      for (const int part : parts.mine()) {
        sum(w * terms[static_cast<std::size_t>(part)]).backward();
        parts.add(own);
        EXPECT_FALSE(w.grad().defined());
      }
      parts.average(own);
      EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(3, expected));
    });
  }
}

// The gradient is -0 in one part, and absent in the others, where it counts as 0.
TEST(Parts, CountAnAbsentGradientAsZeros) {
  for (const int with : {0, 3}) {
    for (const int ranks : {1, 2, 4}) {
      as_ranks(ranks, [&](const dist::World& world) {
        const Tensor w = parameter(ones({2})), always = parameter(ones({2})), never = parameter(ones({2}));
        optim::SGD sgd({w, always, never}, {.lr = 1});
        dist::Parts parts(world, 4);
        for (const int part : parts.mine()) {
          (part == with ? sum(always) + sum(w * -0.0) : sum(always)).backward();
          parts.add(sgd);
        }
        parts.average(sgd);
        EXPECT_EQ(bytes_of({w.grad()}), std::string(8, '\0')) << ranks << " ranks";
        EXPECT_EQ(always.grad().to_vector<float>(), std::vector<float>(2, 1));
        EXPECT_FALSE(never.grad().defined());
      });
    }
  }
}

TEST(Parts, DoNotWriteWhatTheProgramHolds) {
  for (const int ranks : {1, 2}) {
    as_ranks(ranks, [&](const dist::World& world) {
      const Tensor w = parameter(ones({2}));
      optim::SGD sgd({w}, {.lr = 1});
      dist::Parts parts(world, 4);
      std::vector<Tensor> held;
      for (const int part : parts.mine()) {
        sum(w * part).backward();
        held.push_back(w.grad());
        parts.add(sgd);
      }
      parts.average(sgd);
      EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(2, 1.5F));
      for (std::size_t i = 0; i < held.size(); ++i) {
        EXPECT_EQ(held[i].to_vector<float>(),
                  std::vector<float>(2, static_cast<float>(i + held.size() * static_cast<std::size_t>(world.rank()))));
      }
    });
  }
}

// Two optimisers in one loop, of which each has its sums.
TEST(Parts, TakeSeveralOptimisers) {
  as_ranks(2, [](const dist::World& world) {
    const Tensor v = parameter(ones({1})), w = parameter(ones({1}));
    optim::SGD of_v({v}, {.lr = 1}), of_w({w}, {.lr = 1});
    dist::Parts parts(world, 4);
    for (const int part : parts.mine()) {
      (sum(v * part) + sum(w)).backward();
      parts.add(of_v);
      parts.add(of_w);
    }
    parts.average(of_w);
    parts.average(of_v);
    EXPECT_EQ(v.grad().item(), 1.5);
    EXPECT_EQ(w.grad().item(), 1);
  });
}

// The rest of the last backward() goes on here once the gradient that it has computed first was exchanged. All workers are
// in it, so that nothing else can add what the part before has left.
TEST(Parts, ExchangeWhileTheLastBackwardComputes) {
  using namespace std::chrono_literals;
  const EngineOptions before = engine_options();
  EngineOptions options = before;
  options.workers = 2;  // one for each rank
  set_engine_options(options);
  as_ranks(2, [](const dist::World& world) {
    const Tensor small = parameter(ones({4})), large = parameter(ones({std::int64_t{1} << 19}));
    optim::SGD sgd({small, large}, {.lr = 1});
    dist::Parts parts(world, 4);
    enum : int { waits, has_moved, has_not };
    std::atomic<int> end{waits};
    const auto await_move = [&, before = world.figures().moves](const CustomCall& call) {
      const auto limit = std::chrono::steady_clock::now() + 5s;
      while (world.figures().moves == before && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(1ms);
      std::ranges::copy(call.input<float>(0), call.output<float>().begin());
      end = world.figures().moves == before ? has_not : has_moved;
    };
    for (const int part : parts.mine()) {
      const bool is_last = part % 2 == 1;
      const Tensor y =
          with_gradient("slow", small.detach() * part, {small}, [&, is_last](const GradientCall& call) -> Tensor {
            if (!is_last) return call.dy();
            return custom("waits", {.shape = call.dy().shape()}, {call.dy()}, await_move, {.cost = 1 << 30});
          });
      sum(large * sum(y)).backward();
      parts.add(sgd);
    }
    parts.average(sgd);
    while (end == waits) std::this_thread::sleep_for(1ms);  // not in a wait for the engine, which would compute
    EXPECT_EQ(end, has_moved);
    EXPECT_EQ(large.grad().to_vector<float>()[7], 6.0F);  // 4 (0 + 1 + 2 + 3) / 4
  });
  set_engine_options(before);
}

// --- Memory.

std::int64_t peak_bytes(int count) {
  const Tensor weight = parameter(zeros({100'000}));
  optim::SGD sgd({weight}, {.lr = 1});
  dist::Parts parts(dist::World(), count);
  wait_all();
  reset_peaks();
  for (int part : parts.mine()) {
    sum(weight * part).backward();
    parts.add(sgd);
  }
  parts.average(sgd);
  sgd.step();
  wait_all();
  return memory_figures().peak_live_bytes;
}

// At most log2(8) sums beside the gradient of a part.
TEST(Parts, KeepFewGradients) {
  const EngineOptions before = engine_options();
  EngineOptions options = before;
  options.memory_budget = MemoryBudget::bytes(0);
  set_engine_options(options);
  const std::int64_t gradient = 400'000, one = peak_bytes(1);
  EXPECT_LE(peak_bytes(8), one + 3 * gradient + 4096);
  EXPECT_LE(peak_bytes(64), one + 6 * gradient + 4096);
  set_engine_options(before);
}

// --- Random numbers.

TEST(Parts, HaveRandomNumbersOfTheirOwn) {
  std::vector<std::vector<std::vector<float>>> of_ranks;
  for (const int ranks : {1, 2, 4}) {
    std::vector<std::vector<float>> drawn(8);
    as_ranks(ranks, [&](const dist::World& world) {
      Generator generator(3);
      const GeneratorScope scope(generator);
      const Tensor w = parameter(ones({1}));
      optim::SGD sgd({w}, {.lr = 1});
      dist::Parts parts(world, 4);
      for (const int step : {0, 1}) {
        for (const int part : parts.mine()) {
          drawn[static_cast<std::size_t>(4 * step + part)] = randn({3}).to_vector<float>();
          parts.add(sgd);
        }
        EXPECT_EQ(generator.place(), 0U);
        EXPECT_EQ(&default_generator(), &generator);
        parts.average(sgd);
      }
    });
    of_ranks.push_back(drawn);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(drawn[i], drawn[j]) << i << ", " << j;
    }
  }
  EXPECT_EQ(of_ranks[1], of_ranks[0]);
  EXPECT_EQ(of_ranks[2], of_ranks[0]);
}

TEST(Parts, PutTheGeneratorBackWhateverHappens) {
  Generator generator(3);
  const GeneratorScope scope(generator);
  dist::Parts parts(dist::World(), 4);
  try {
    for (const int part : parts.mine()) {
      EXPECT_NE(&default_generator(), &generator);
      if (part == 2) throw std::runtime_error("no rows today");
    }
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(&default_generator(), &generator);
  for (int part : parts.mine()) {
    if (part == 1) break;
  }
  EXPECT_EQ(&default_generator(), &generator);
}

TEST(Parts, RefuseAPartThatTakesTheNumbersOfTheNextStep) {
  dist::Parts parts(dist::World(), 2);
  const auto take = [&](std::uint64_t blocks) {
    for (int part : parts.mine()) default_generator().take(part == 0 ? 4 * blocks : 0);
  };
  take(std::uint64_t{1} << 32);
  EXPECT_THAT(message_of([&] { take((std::uint64_t{1} << 32) + 1); }),
              HasSubstr("[Parts.mine] part 0 has taken 4294967297 blocks of random numbers, and a step has 2^32; draw "
                        "from a Generator of the program's own"));
}

// A checkpoint has the seed and the number of the step, so that a training goes on with the same bits.
TEST(Parts, GoOnFromACheckpoint) {
  const auto drawn = [](dist::Parts& parts, optim::SGD& sgd) {
    std::vector<float> first;
    for (int part : parts.mine()) {
      if (part == 0) first = randn({2}).to_vector<float>();
      parts.add(sgd);
    }
    parts.average(sgd);
    return first;
  };
  optim::SGD sgd({parameter(ones({1}))}, {.lr = 1});
  dist::Parts parts(dist::World(), 4);
  for (int step = 0; step < 3; ++step) drawn(parts, sgd);
  Generator generator(77);
  const GeneratorScope scope(generator);
  dist::Parts other(dist::World(), 4);
  const auto from = kept_numbers(parts), to = kept_numbers(other);
  EXPECT_EQ(*from.at("step"), 3);
  for (const auto& [name, place] : to) *place = *from.at(name);
  EXPECT_EQ(drawn(other, sgd), drawn(parts, sgd));
  *to.at("count") = 8;
  sgd.zero_grad();
  EXPECT_THAT(message_of([&] { static_cast<void>(other.mine()); }),
              HasSubstr("[Parts.mine] what was loaded is of a training in 8 parts, and this one has 4"));
}

// --- Running statistics.

// Those of one process, whose batches are the parts.
TEST(Parts, UpdateRunningStatisticsPartAfterPart) {
  const Tensor x = Tensor::from(
      [] {
        std::vector<float> values;
        for (int i = 0; i < 48; ++i)
          values.push_back(static_cast<float>(data::split_mix(static_cast<std::uint64_t>(i)) >> 44) * 1e-5F);
        return values;
      }(),
      {16, 3});
  const nn::BatchNorm plain(3);
  for (std::int64_t part = 0; part < 4; ++part) plain(x(range(4 * part, 4 * part + 4)));
  for (const int ranks : {1, 2, 4}) {
    as_ranks(ranks, [&](const dist::World& world) {
      const nn::BatchNorm norm(3);
      optim::SGD sgd(nn::parameters(norm), {.lr = 0.1});
      dist::Parts parts(world, 4);
      for (const std::int64_t part : parts.mine()) {
        sum(norm(x(range(4 * part, 4 * part + 4)))).backward();
        parts.add(sgd);
        EXPECT_EQ(norm.running_mean.to_vector<float>(), std::vector<float>(3, 0)) << "not yet";
      }
      parts.average(sgd);
      EXPECT_EQ(bytes_of({norm.running_mean, norm.running_var}), bytes_of({plain.running_mean, plain.running_var}))
          << ranks << " ranks";
    });
  }
}

// Statistics of two types, of any shape, and larger than a piece.
TEST(Parts, GatherRunningStatisticsOfEveryTypeAndShape) {
  const std::int64_t many = 700'001;
  for (const int ranks : {1, 2}) {
    as_ranks(ranks, [&](const dist::World& world) {
      const Tensor w = parameter(ones({1})), large = zeros({many}), matrix = zeros({2, 3}, {.dtype = float64});
      optim::SGD sgd({w}, {.lr = 0.1});
      dist::Parts parts(world, 2);
      for (const int part : parts.mine()) {
        nn::update_running(large, 0.5, full({many}, part + 1), 1);
        nn::update_running(matrix, 1, full({2, 3}, part + 1, {.dtype = float64}), 10);
        parts.add(sgd);
      }
      parts.average(sgd);
      EXPECT_EQ(large.to_vector<float>(), std::vector<float>(static_cast<std::size_t>(many), 2.5F));
      EXPECT_EQ(matrix.to_vector<double>(), std::vector<double>(6, 30));
    });
  }
}

TEST(Parts, RefuseOtherUpdatesInAnotherPart) {
  const Tensor mean = zeros({2}), value = ones({2});
  dist::Parts parts(dist::World(), 2);
  EXPECT_THAT(
      message_of([&] {
        for (int part : parts.mine()) {
          if (part == 1) nn::update_running(mean, 0.9, value, 0.1);
        }
      }),
      HasSubstr(
          "[Parts.mine] parts 0 and 1 update running statistics in different ways, 0 and 1 of them: none, and keep "
          "0.9 of float32 (2); each part makes the same updates, in the same order"));
  EXPECT_THAT(message_of([&] { nn::update_running(mean, 0.9, ones({3}), 0.1); }),
              HasSubstr("[update_running] running float32 (2) and value float32 (3) differ"));
}

}  // namespace
}  // namespace asyncgrad::tests
