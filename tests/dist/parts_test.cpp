// Trainings in parts, with threads as ranks: the same bits on any number of them.
#include "asyncgrad/dist/parts.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/dist/thread_transport.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

// The bytes of all values, which tell -0 from 0.
std::string bytes_of(const std::vector<Tensor>& tensors) {
  std::string bytes;
  const auto append = [&](const auto& values) {
    if (values.empty()) return;
    const std::size_t before = bytes.size(), size = values.size() * sizeof(values[0]);
    bytes.resize(before + size);
    std::memcpy(&bytes[before], values.data(), size);
  };
  for (const Tensor& tensor : tensors) {
    tensor.dtype() == float64 ? append(tensor.to_vector<double>()) : append(tensor.to_vector<float>());
  }
  return bytes;
}

// A random training. Everything follows from the seed: its layers, its data, its optimiser.
class Training {
 public:
  explicit Training(std::uint64_t seed) : random_(seed) {
    dtype_ = one_in(3) ? float64 : float32;
    has_norm_ = one_in(2) || seed == 0;
    drops_ = one_in(2) || seed == 0;
    recomputes_ = one_in(3);
    inner_ = Inner{.dense = nn::Dense(width, width, tanh, {.dtype = dtype_}),
                   .norm = nn::BatchNorm(width, {.dtype = dtype_}),
                   .has_norm = has_norm_,
                   .drops = drops_};
    std::vector<Tensor> parameters = nn::parameters(inner_);
    for (const nn::Dense& dense : {first_of(dtype_), sometimes_of(dtype_), never_of(dtype_), last_of(dtype_)}) {
      outer_.push_back(dense);
      for (const Tensor& parameter : nn::parameters(outer_.back())) parameters.push_back(parameter);
    }
    table_ = nn::Embedding(7, width, {.row_gradients = one_in(2), .dtype = dtype_});
    for (const Tensor& parameter : nn::parameters(table_)) parameters.push_back(parameter);
    parameters_ = parameters;
    if (one_in(2)) {
      optimizer_ = std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = 0.01});
    } else {
      optimizer_ = std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
    }
  }

  void step(dist::Parts& parts, int number) {
    const Tensor x = data(number), index = indices(number);
    const data::Share share = parts.share();
    const std::int64_t rows = rows_of_batch / share.count;
    const auto own = range(share.index * rows, (share.index + share.length) * rows);
    for (const int part : parts.mine()) {
      const std::vector<Tensor> of_part = parts.rows(std::vector<Tensor>{x(own), index(own)}, part);
      loss(of_part[0], of_part[1], (part + number) % 3 == 0).backward();
      parts.add(*optimizer_);
    }
    parts.average(*optimizer_);
    optimizer_->step();
    optimizer_->zero_grad();
  }

  std::string bytes() const {
    std::vector<Tensor> all = parameters_;
    all.push_back(inner_.norm.running_mean);
    all.push_back(inner_.norm.running_var);
    return bytes_of(all);
  }

  static constexpr std::int64_t rows_of_batch = 32;

 private:
  static constexpr std::int64_t width = 6;

  struct Inner {
    nn::Dense dense{1, 1};
    nn::BatchNorm norm{1};
    bool has_norm = false, drops = false;
    Tensor operator()(const Arg& x) const {
      Tensor h = dense(x);
      if (has_norm) h = norm(h);
      return drops ? dropout(h, 0.3) : h;
    }
    void members(nn::Members& m) {
      m("dense", dense);
      m("norm", norm);
    }
  };

  static nn::Dense first_of(DType dtype) { return nn::Dense(5, width, relu, {.dtype = dtype}); }
  static nn::Dense sometimes_of(DType dtype) { return nn::Dense(width, width, {.dtype = dtype}); }
  static nn::Dense never_of(DType dtype) { return nn::Dense(width, width, {.dtype = dtype}); }
  static nn::Dense last_of(DType dtype) { return nn::Dense(width, 1, {.dtype = dtype}); }

  bool one_in(int count) { return random_() % static_cast<unsigned>(count) == 0; }
  Tensor data(int number) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows_of_batch * 5; ++i) {
      const std::uint64_t bits = data::split_mix(static_cast<std::uint64_t>(number * 1000 + i));
      values.push_back(static_cast<float>(bits >> 40) * 0x1p-22F - 2.0F);
    }
    return Tensor::from(values, {rows_of_batch, 5}).to(dtype_);
  }
  static Tensor indices(int number) {
    std::vector<std::int64_t> values;
    for (int i = 0; i < rows_of_batch; ++i) values.push_back((i * i + number) % 7);
    return Tensor::from(values, {rows_of_batch});
  }
  Tensor loss(const Tensor& x, const Tensor& index, bool sometimes) const {
    Tensor h = outer_[0](x) + table_(index);
    h = recomputes_ ? nn::recompute(inner_, h) : inner_(h);
    if (sometimes) h = h + outer_[1](h);
    return mean(nn::l2_loss(outer_[3](h), sum(x, 1, true)));
  }

  std::mt19937_64 random_;
  DType dtype_ = float32;
  bool has_norm_ = false, drops_ = false, recomputes_ = false;
  Inner inner_;
  std::vector<nn::Dense> outer_;
  nn::Embedding table_{1, 1};
  std::vector<Tensor> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

std::string trained_as(const dist::World& world, std::uint64_t seed, int count, int steps) {
  Generator generator(seed + 100);
  const GeneratorScope scope(generator);
  Training training(seed);
  dist::Parts parts(world, count);
  for (int step = 0; step < steps; ++step) training.step(parts, step);
  return training.bytes();
}

std::string trained(int ranks, std::uint64_t seed, int count = 8, int steps = 4) {
  std::vector<std::string> bytes(static_cast<std::size_t>(ranks));
  as_ranks(ranks, [&](const dist::World& world) {
    bytes[static_cast<std::size_t>(world.rank())] = trained_as(world, seed, count, steps);
  });
  for (const std::string& others : bytes) EXPECT_TRUE(others == bytes[0]) << ranks << " ranks, seed " << seed;
  return bytes[0];
}

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
  struct Values final : nn::Members::Visitor {
    void layer(const std::string&, const std::string&) override {}
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override { places[path] = std::get<std::int64_t*>(value); }
    std::map<std::string, std::int64_t*> places;
  };
  optim::SGD sgd({parameter(ones({1}))}, {.lr = 1});
  dist::Parts parts(dist::World(), 4);
  for (int step = 0; step < 3; ++step) drawn(parts, sgd);
  Generator generator(77);
  const GeneratorScope scope(generator);
  dist::Parts other(dist::World(), 4);
  Values from, to;
  nn::Members::visit(parts, from);
  nn::Members::visit(other, to);
  EXPECT_EQ(*from.places.at("step"), 3);
  for (const auto& [name, place] : to.places) *place = *from.places.at(name);
  EXPECT_EQ(drawn(other, sgd), drawn(parts, sgd));
  *to.places.at("count") = 8;
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
          "0.9 of (2); each part makes the same updates, in the same order"));
  EXPECT_THAT(message_of([&] { nn::update_running(mean, 0.9, ones({3}), 0.1); }),
              HasSubstr("[update_running] running float32 (2) and value float32 (3) differ"));
}

// --- Mistakes.

TEST(Parts, RefuseNumbersThatDoNotFit) {
  EXPECT_THAT(message_of([] { dist::Parts(dist::World(), 6); }),
              HasSubstr("[Parts] count must be a power of two, because sums form one binary tree, got 6"));
  EXPECT_THAT(message_of([] { dist::Parts(dist::World(), 0); }), HasSubstr("got 0"));
  as_ranks(3, [](const dist::World& world) {
    EXPECT_THAT(message_of([&] { dist::Parts(world, 8); }),
                HasSubstr("[Parts] 3 ranks cannot share 8 parts evenly; start a power of two of ranks, at most 8"));
  });
  as_ranks(2, [](const dist::World& world) {
    EXPECT_THAT(message_of([&] { dist::Parts(world, world.rank() == 0 ? 8 : 4); }),
                HasSubstr("the programs of the ranks differ: rank 0 calls Parts of int64 (8)"));
  });
  recover();
}

TEST(Parts, RefuseCallsInAnotherOrder) {
  const Tensor w = parameter(ones({2}));
  optim::SGD sgd({w}, {.lr = 1});
  dist::Parts parts(dist::World(), 4);
  EXPECT_THAT(message_of([&] { parts.add(sgd); }),
              HasSubstr("[Parts.add] no loop over mine() goes on; it is called within one, for each part"));
  EXPECT_THAT(
      message_of([&] { parts.average(sgd); }),
      HasSubstr(
          "[Parts.average] 0 of this rank's 4 parts have ended, and 0 were added; add() is called for each in the "
          "loop over mine(), which begins again after an error"));
  EXPECT_THAT(
      message_of([&] {
        for (int part : parts.mine()) {
          if (part == 1) parts.average(sgd);
        }
      }),
      HasSubstr("[Parts.average] part 1 has not ended; it is called after the loop over mine() at parts_test.cpp:"));
  EXPECT_THAT(
      message_of([&] {
        for (int part : parts.mine()) {
          parts.add(sgd);
          if (part == 1) parts.add(sgd);
        }
      }),
      HasSubstr("[Parts.add] it is called once for each part, and part 1 comes after 1 others of this rank, but 2 "
                "parts were added; after an error begin the loop over mine() again"));
  EXPECT_THAT(message_of([&] {
                for (int part : parts.mine()) {
                  if (part != 1) parts.add(sgd);
                }
              }),
              HasSubstr("part 2 comes after 2 others of this rank, but 1 parts were added"));
  EXPECT_THAT(message_of([&] {
                for (int part : parts.mine()) {
                  static_cast<void>(part);
                  for (int other : parts.mine()) static_cast<void>(other);
                }
              }),
              HasSubstr("goes on; it ends before the next one"));
  for (int part : parts.mine()) {
    sum(w * part).backward();
    parts.add(sgd);
  }
  parts.average(sgd);
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(2, 1.5F)) << "after the errors";
  EXPECT_THAT(
      message_of([&] { parts.average(sgd); }),
      HasSubstr(
          "[Parts.average] step 1 has averaged this optimiser's gradients before; a loop over mine() begins the next"));
  EXPECT_THAT(
      message_of([&] { static_cast<void>(parts.mine()); }),
      HasSubstr("[Parts.mine] a parameter (2) has a gradient before the first part, which would be counted again; "
                "the optimiser's zero_grad() drops it"));
}

// On some numbers of ranks such a gradient would be lost, and on others be that of the next part.
TEST(Parts, RefuseAGradientThatComesAfterItsAdd) {
  const Tensor w = parameter(ones({2}));
  optim::SGD sgd({w}, {.lr = 1});
  dist::Parts parts(dist::World(), 2);
  EXPECT_THAT(
      message_of([&] {
        for (int part : parts.mine()) {
          sum(w * part).backward();
          parts.add(sgd);
          sum(w).backward();
        }
      }),
      HasSubstr("[Parts.mine] a parameter (2) has a gradient that add() has not taken, at the end of part 0; add() "
                "comes after all calls of backward() of the part"));
  sgd.zero_grad();
  for (int part : parts.mine()) {
    sum(w * part).backward();
    parts.add(sgd);
  }
  sum(w).backward();
  EXPECT_THAT(message_of([&] { parts.average(sgd); }),
              HasSubstr("[Parts.average] a parameter (2) has a gradient that came after its add(), and would be lost"));
  sgd.zero_grad();
  parts.average(sgd);
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(2, 0.5F));
}

// As that of a generator, to whose parameters the discriminator's loss has led.
TEST(Parts, RefuseAGradientThatAnotherOptimisersLoopHasLeft) {
  const Tensor v = parameter(ones({2})), w = parameter(ones({2}));
  optim::SGD of_v({v}, {.lr = 1}), of_w({w}, {.lr = 1});
  dist::Parts parts(dist::World(), 2);
  const auto loop = [&](optim::SGD& sgd) {
    for (int part : parts.mine()) {
      (sum(v * part) + sum(w)).backward();
      parts.add(sgd);
    }
    parts.average(sgd);
    of_v.zero_grad();
  };
  loop(of_v);  // leaves w's, of which nobody knows
  of_w.zero_grad();
  loop(of_w);
  of_w.zero_grad();
  loop(of_v);
  EXPECT_THAT(message_of([&] { loop(of_w); }), HasSubstr("has a gradient before the first part"));
}

TEST(Parts, RefuseALoopThatWasLeft) {
  const Tensor w = parameter(ones({2}));
  optim::SGD sgd({w}, {.lr = 1});
  dist::Parts parts(dist::World(), 2);
  for (int part : parts.mine()) {
    parts.add(sgd);
    if (part == 1) break;
  }
  EXPECT_THAT(message_of([&] { parts.average(sgd); }),
              HasSubstr("[Parts.average] 1 of this rank's 2 parts have ended, and 2 were added"));
}

TEST(Parts, GiveTheGeneratorBackWhenTheLoopEnds) {
  Generator generator(3);
  const GeneratorScope scope(generator);
  const Tensor w = parameter(ones({2}));
  optim::SGD sgd({w}, {.lr = 1});
  dist::Parts parts(dist::World(), 2);
  dist::Parts::Mine mine = parts.mine();
  for (int part : mine) {
    sum(w * part).backward();
    parts.add(sgd);
  }
  EXPECT_EQ(&default_generator(), &generator);
  parts.average(sgd);
  EXPECT_THAT(message_of([&] { mine.begin(); }), HasSubstr("[Parts.mine] the loop over these parts has ended"));
}

TEST(Parts, RefuseRowsThatAreNotTheirs) {
  as_ranks(2, [](const dist::World& world) {
    const dist::Parts parts(world, 8);
    const Tensor x = zeros({12, 3});
    const int first = 4 * world.rank();
    EXPECT_EQ(parts.rows(x, first + 1).shape(), Shape({3, 3}));
    EXPECT_THAT(message_of([&] { parts.rows(x, (first + 4) % 8); }),
                HasSubstr(world.rank() == 0 ? "[Parts.rows] part 4 is not one of this rank's, which are 0 to 3"
                                            : "[Parts.rows] part 0 is not one of this rank's, which are 4 to 7"));
    EXPECT_THAT(
        message_of([&] {
          parts.rows(zeros({6, 3}), first);
        }),
        HasSubstr("[Parts.rows] 4 parts cannot share the rows of x (6, 3) evenly; Batches with the share of the "
                  "Parts leaves such a batch out"));
  });
}

// An operation of one part fails on one rank: all ranks have the error, nobody updates, and the training goes on.
TEST(Parts, GoOnAfterAFailure) {
  for (const int ranks : {1, 2, 4}) {
    as_ranks(ranks, [&](const dist::World& world) {
      const Tensor w = parameter(ones({2}));
      optim::SGD sgd({w}, {.lr = 1});
      dist::Parts parts(world, 4);
      for (const bool fails : {false, true}) {
        for (const int part : parts.mine()) {
          const Tensor x = custom("reading", {.shape = {2}}, {}, [=](const CustomCall& call) {
            if (fails && part == 2) throw std::runtime_error("no value today");
            for (float& value : call.output<float>()) value = 0.5F;
          });
          sum(w * x).backward();
          parts.add(sgd);
        }
        parts.average(sgd);
        sgd.step();
        EXPECT_THAT(message_of([&] { w.wait(); }), HasSubstr(fails ? "no value today" : "nothing was thrown"));
        sgd.zero_grad();
      }
    });
    recover();
  }
  // A second object, as there is no common recover() of threads.
  EXPECT_EQ(trained(2, 0), trained_as(dist::World(), 0, 8, 4));
}

}  // namespace
}  // namespace asyncgrad::tests
