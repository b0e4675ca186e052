#include "asyncgrad/nn/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "tests/support/limited_files.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using tests::message_of;

// Values that a program may keep beside its layers.
struct Program {
  int small = 0;
  std::int64_t large = 0;
  bool flag = false;
  double rate = 0;
  std::string text;
  Generator generator;
  std::vector<double> losses{0, 0};
  Tensor tensor = zeros({2});

  void add_to(Checkpoint& checkpoint) {
    checkpoint.add("small", small).add("large", large).add("flag", flag).add("rate", rate).add("text", text);
    checkpoint.add("generator", generator).add("losses", losses).add("tensor", tensor);
  }
};

class Checkpoints : public testing::Test {
 protected:
  std::string file() const { return folder_.file("checkpoint"); }
  void put(const nn::safetensors::Metadata& metadata) const { nn::safetensors::write("test", file(), {}, metadata); }
  std::string refusal(Checkpoint& checkpoint) const {
    return folder_.without_path(message_of([&] { checkpoint.load(file()); }), "checkpoint");
  }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(Checkpoints, KeepEveryKindOfValue) {
  Program program{.small = -3,
                  .large = std::numeric_limits<std::int64_t>::min(),
                  .flag = true,
                  .rate = 0.1,
                  .text = "a \"text\"\n, ä\x01",
                  .generator = Generator(~std::uint64_t{0}, 12345),
                  .losses = {std::numeric_limits<double>::infinity(), 5e-324},
                  .tensor = ones({2})};
  Checkpoint checkpoint;
  program.add_to(checkpoint);
  checkpoint.save(file());

  Program other;
  Checkpoint reading;
  other.add_to(reading);
  reading.load(file());
  EXPECT_EQ(other.small, -3);
  EXPECT_EQ(other.large, program.large);
  EXPECT_TRUE(other.flag);
  EXPECT_EQ(other.rate, 0.1);
  EXPECT_EQ(other.text, program.text);
  EXPECT_EQ(other.generator.seed(), program.generator.seed());
  EXPECT_EQ(other.generator.place(), program.generator.place());
  EXPECT_EQ(other.losses, program.losses);
  EXPECT_EQ(other.tensor.str(), program.tensor.str());
  program.rate = std::nan("");
  checkpoint.save(file());
  reading.load(file());
  EXPECT_TRUE(std::isnan(other.rate));
}

TEST_F(Checkpoints, AreFilesWhoseMetadataCanBeRead) {
  int epoch = 3;
  Generator generator(7);
  nn::Dense net(2, 3, nullptr, {.generator = &generator});
  Checkpoint checkpoint;
  checkpoint.add("net", net).add("epoch", epoch).add("random", generator);
  checkpoint.save(file());
  const nn::safetensors::Reader reader("test", file());
  EXPECT_THAT(reader.header().metadata, ElementsAre(Pair("epoch", "integer 3"), Pair("random", "random 7 2")));
  ASSERT_EQ(reader.header().tensors.size(), 2u);
  EXPECT_EQ(reader.header().tensors[0].name, "net.weight");
}

// Random numbers go on where they were.
TEST_F(Checkpoints, AGeneratorGoesOn) {
  Generator generator(5);
  randn({7}, {.generator = &generator});
  Checkpoint checkpoint;
  checkpoint.add("random", generator);
  checkpoint.save(file());
  const std::vector<float> expected = randn({9}, {.generator = &generator}).to_vector<float>();
  generator = Generator(6);
  checkpoint.load(file());
  EXPECT_EQ(randn({9}, {.generator = &generator}).to_vector<float>(), expected);
}

TEST_F(Checkpoints, KeepTheStatesOfARecurrentNetwork) {
  const nn::LSTM lstm(3, 4);
  const Tensor x = randn({5, 2, 3});
  nn::RecurrentStart states;
  const auto run = [&] {
    const nn::RecurrentResult result = lstm.run(x, states);
    states = {.h = result.h.detach(), .c = result.c.detach()};
    return result.output.to_vector<float>();
  };
  const std::vector<float> first = run();
  Checkpoint checkpoint;
  checkpoint.add("states", states);
  checkpoint.save(file());
  const std::vector<float> second = run();
  run();
  checkpoint.load(file());
  EXPECT_EQ(run(), second);
  EXPECT_NE(first, second);
  states = {.h = zeros({1, 2, 4}), .c = zeros({1, 2, 4})};  // as in a new process
  checkpoint.load(file());
  EXPECT_EQ(run(), second);
}

TEST_F(Checkpoints, AScheduleKnowsGroupsThatWereAddedAfterIt) {
  struct Training {
    optim::SGD sgd{{parameter(ones({2}))}, {.lr = 1}};
    optim::Schedule schedule{sgd, optim::steps(1, 0.5)};
    Checkpoint checkpoint;

    Training() {
      sgd.add_group({parameter(ones({3}))}, {.lr = 8});
      checkpoint.add("sgd", sgd).add("schedule", schedule);
    }
  };
  Training first;
  first.schedule.step();
  first.checkpoint.save(file());
  Training next;
  next.checkpoint.load(file());
  EXPECT_EQ(next.sgd.lr(1), 4);
  next.schedule.step();
  EXPECT_EQ(next.sgd.lr(0), 0.25);
  EXPECT_EQ(next.sgd.lr(1), 2);
}

TEST_F(Checkpoints, ListAllThatDoesNotFitAndChangeNothing) {
  Program program;
  program.text = "before";
  Checkpoint checkpoint;
  program.add_to(checkpoint);
  put({{"small", "integer 99999999999"},
       {"large", "number 1.5"},
       {"flag", "flag yes"},
       {"rate", "number 1x"},
       {"text", "text after"},
       {"generator", "random 1"},
       {"losses.0", "number 2"},
       {"more", "integer 1"}});
  EXPECT_EQ(refusal(checkpoint),
            "[Checkpoint] does not fit:\n"
            "  \"tensor\", F32 (2), is missing in the file\n"
            "  \"small\" is \"integer 99999999999\" in the file, and here as \"integer 0\"\n"
            "  \"large\" is \"number 1.5\" in the file, and here as \"integer 0\"\n"
            "  \"flag\" is \"flag yes\" in the file, and here as \"flag false\"\n"
            "  \"rate\" is \"number 1x\" in the file, and here as \"number 0\"\n"
            "  \"generator\" is \"random 1\" in the file, and here as \"random 0 0\"\n"
            "  \"losses.1\" is missing in the file\n"
            "  \"more\", \"integer 1\", is left over");
  EXPECT_EQ(program.text, "before");
  EXPECT_EQ(program.losses[0], 0);
}

TEST_F(Checkpoints, RefuseNegativeCountsAndRatesThatAreNone) {
  optim::SGD sgd({parameter(ones({2}))}, {.lr = 1});
  optim::Schedule schedule(sgd, optim::steps(1, 0.5));
  optim::Plateau plateau(sgd);
  data::Batches batches(std::vector<float>{1, 2, 3}, {.batch_size = 1});
  Checkpoint checkpoint;
  checkpoint.add("sgd", sgd).add("schedule", schedule).add("plateau", plateau).add("batches", batches);
  put({{"sgd.0.lr", "number nan"},
       {"schedule.count", "integer -1"},
       {"schedule.first_rates.0", "number -0.5"},
       {"plateau.best", "number -3"},
       {"plateau.worse", "integer -2"},
       {"batches.epoch", "integer 7"},
       {"batches.batch", "integer -9223372036854775808"}});
  EXPECT_EQ(refusal(checkpoint),
            "[Checkpoint] does not fit:\n"
            "  \"sgd.0.lr\" is \"number nan\" in the file, and must be finite and not negative\n"
            "  \"schedule.count\" is \"integer -1\" in the file, and must be finite and not negative\n"
            "  \"schedule.first_rates.0\" is \"number -0.5\" in the file, and must be finite and not negative\n"
            "  \"plateau.worse\" is \"integer -2\" in the file, and must be finite and not negative\n"
            "  \"batches.batch\" is \"integer -9223372036854775808\" in the file, and must be finite and not negative");
  EXPECT_EQ(sgd.lr(), 1);
  EXPECT_EQ(schedule.count(), 0);
  EXPECT_EQ(batches.epoch(), 0);
}

TEST_F(Checkpoints, LeaveTheOldFileIfAnythingFails) {
  std::string text = "good";
  Checkpoint checkpoint;
  checkpoint.add("text", text);
  checkpoint.save(file());
  text = std::string(10'000, 'x');
  {
    const tests::LimitedFiles limited(1000);
    EXPECT_EQ(message_of([&] { checkpoint.save(file()); }),
              "[Checkpoint] cannot write '" + file() + "': File too large");
  }
  text = "\xff";
  EXPECT_THAT(message_of([&] { checkpoint.save(file()); }), HasSubstr("which is not UTF-8"));
  checkpoint.load(file());
  EXPECT_EQ(text, "good");
}

TEST_F(Checkpoints, NamesAreCheckedAtOnce) {
  int a = 1, b = 2;
  Checkpoint checkpoint;
  checkpoint.add("a", a);
  EXPECT_EQ(message_of([&] { checkpoint.add("a", b); }),
            "[members] two members are called \"a\"; each needs a name of its own");
  EXPECT_THAT(message_of([&] { checkpoint.add("", b); }), HasSubstr("must not be empty"));
  checkpoint.add("b", b);
  checkpoint.save(file());
  a = b = 0;
  checkpoint.load(file());
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
}

// --- A training that goes on.

struct Training {
  Generator random{11};
  nn::Sequential net{nn::Dense(5, 9, tanh, {.generator = &random}), nn::Dense(9, 2, nullptr, {.generator = &random})};
  std::unique_ptr<optim::Optimizer> optimizer;
  std::unique_ptr<optim::Schedule> schedule;
  std::int64_t step = 0;
  Checkpoint checkpoint;

  using Make = std::function<std::unique_ptr<optim::Optimizer>(const nn::Sequential&)>;
  explicit Training(const Make& make) : optimizer(make(net)) {
    schedule = std::make_unique<optim::Schedule>(*optimizer, optim::warm_up(3, optim::cosine(20)));
    checkpoint.add("random", random).add("net", net).add("optimizer", *optimizer).add("schedule", *schedule);
    checkpoint.add("step", step);
  }
  void train(std::int64_t until) {
    for (; step < until; ++step) {
      optimizer->zero_grad();
      const Tensor x = randn({17, 5}, {.generator = &random});
      mean(nn::l2_loss(net(x), x.reshape({85}).slice(0, 34).reshape({17, 2}))).backward();
      optim::clip_norm(optimizer->parameters(), 0.5);
      optimizer->step();
      schedule->step();
    }
  }
  std::string contents() const {
    std::string all;
    for (const auto& [name, tensor] : nn::state(net)) {
      for (const float value : tensor.to_vector<float>()) all += fmt::format("{:a} ", value);
    }
    return all;
  }
};

// A different moment, count, rate or random number would change all values.
void expect_the_same_bits(const std::string& file, const Training::Make& make) {
  Training whole(make);
  whole.train(12);
  Training begun(make);
  begun.train(5);
  begun.checkpoint.save(file);
  Training gone_on(make);
  gone_on.train(1);  // what it had is replaced
  gone_on.checkpoint.load(file);
  EXPECT_EQ(gone_on.step, 5);
  EXPECT_EQ(gone_on.contents(), begun.contents());
  gone_on.train(12);
  EXPECT_EQ(gone_on.contents(), whole.contents());
  EXPECT_EQ(gone_on.optimizer->lr(), whole.optimizer->lr());
}

template <class Kind, class Options>
Training::Make made(Options options) {
  return [=](const nn::Sequential& net) { return std::make_unique<Kind>(nn::parameters(net), options); };
}

TEST_F(Checkpoints, TrainingGoesOnWithTheSameBits) {
  expect_the_same_bits(file(), made<optim::SGD>(optim::SGDOptions{.lr = 0.1}));
  expect_the_same_bits(file(), made<optim::SGD>(optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}));
  expect_the_same_bits(file(), made<optim::Adam>(optim::AdamOptions{.lr = 0.1, .weight_decay = 0.1}));
  expect_the_same_bits(file(), made<optim::AdamW>(optim::AdamWOptions{.lr = 0.1}));
  expect_the_same_bits(file(), made<optim::Adagrad>(optim::AdagradOptions{.lr = 0.1}));
  expect_the_same_bits(file(), made<optim::RMSprop>(optim::RMSpropOptions{.lr = 0.01}));
  expect_the_same_bits(file(),
                       made<optim::RMSprop>(optim::RMSpropOptions{.lr = 0.01, .momentum = 0.9, .centered = true}));
}

TEST_F(Checkpoints, EveryGroupGoesOn) {
  expect_the_same_bits(file(), [](const nn::Sequential& net) {
    const std::vector<Tensor> parameters = nn::parameters(net);
    auto adam = std::make_unique<optim::Adam>(std::vector{parameters[0], parameters[2]});
    adam->add_group({parameters[1], parameters[3]}, {.lr = 0.1});
    return adam;
  });
}

TEST_F(Checkpoints, AnOptimiserOfAnotherKindDoesNotFit) {
  const nn::Dense net(2, 1, nullptr, {.bias = false});
  optim::Adam adam(nn::parameters(net));
  optim::SGD sgd(nn::parameters(net), {.momentum = 0.9});
  Checkpoint of_adam, of_sgd;
  of_adam.add("optimizer", adam);
  of_sgd.add("optimizer", sgd);
  of_adam.save(file());
  EXPECT_EQ(refusal(of_sgd),
            "[Checkpoint] does not fit:\n"
            "  \"optimizer.0.velocities.0\", F32 (2, 1), is missing in the file\n"
            "  \"optimizer.0.first_moments.0\", F32 (2, 1), is left over\n"
            "  \"optimizer.0.second_moments.0\", F32 (2, 1), is left over\n"
            "  \"optimizer.0.steps.0\", I64 (1), is left over");
}

}  // namespace
}  // namespace asyncgrad
