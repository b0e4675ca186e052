// Trainings in parts whose programs make mistakes, or whose operations fail.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/dist/random_training.h"
#include "tests/dist/thread_transport.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

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
          "loop over mine(), which begins again on all ranks after an error"));
  EXPECT_THAT(
      message_of([&] {
        for (int part : parts.mine()) {
          if (part == 1) parts.average(sgd);
        }
      }),
      HasSubstr(
          "[Parts.average] part 1 has not ended; it is called after the loop over mine() at parts_mistakes_test.cpp:"));
  EXPECT_THAT(
      message_of([&] {
        for (int part : parts.mine()) {
          parts.add(sgd);
          if (part == 1) parts.add(sgd);
        }
      }),
      HasSubstr("[Parts.add] it is called once for each part, and part 1 comes after 1 others of this rank, but 2 "
                "parts were added; after an error begin the loop over mine() again, on all ranks"));
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
          "[Parts.average] step 5 has averaged this optimiser's gradients before; a loop over mine() begins the next"));
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

// --- Ranks that differ.

// A step of one weight, the gradient of which is the part's number.
void train_step(dist::Parts& parts, optim::SGD& sgd, const Tensor& w) {
  for (const int part : parts.mine()) {
    sum(w * part).backward();
    parts.add(sgd);
  }
  parts.average(sgd);
}

// As when one rank alone has loaded a checkpoint: its random numbers would be those of another step.
TEST(Parts, RefuseAnotherStepOrSeedOnAnotherRank) {
  for (const char* number : {"step", "seed"}) {
    as_ranks(2, [&](const dist::World& world) {
      const Tensor w = parameter(ones({2}));
      optim::SGD sgd({w}, {.lr = 1});
      dist::Parts parts(world, 2);
      *kept_numbers(parts).at("seed") = 5;
      train_step(parts, sgd, w);
      sgd.step();
      EXPECT_EQ(message_of([&] { w.wait(); }), "nothing was thrown");
      sgd.zero_grad();
      if (world.rank() == 1) *kept_numbers(parts).at(number) += 7;
      train_step(parts, sgd, w);
      const std::string message = message_of([&] { w.grad().wait(); });
      EXPECT_THAT(message, HasSubstr("the programs of the ranks differ: rank 0 calls Parts.average of"));
      EXPECT_THAT(message, HasSubstr(", step 2, seed 5, loop 1 over mine(), running statistics: none; rank 1 calls"));
      EXPECT_THAT(message, HasSubstr(number == std::string("step") ? ", step 9, seed 5," : ", step 2, seed 12,"));
      EXPECT_EQ(dist::sum(ones({1}), world).item(), 2) << "the next call";
    });
    recover();
  }
}

// The other rank's next batch would be added to this one's.
TEST(Parts, RefuseAnotherRankThatHasLeftALoop) {
  as_ranks(2, [&](const dist::World& world) {
    const Tensor w = parameter(ones({2}));
    optim::SGD sgd({w}, {.lr = 1});
    dist::Parts parts(world, 2);
    if (world.rank() == 1) {
      for (const int part : parts.mine()) {
        static_cast<void>(part);
        break;
      }
    }
    train_step(parts, sgd, w);
    EXPECT_THAT(message_of([&] { w.grad().wait(); }),
                testing::AllOf(HasSubstr("the programs of the ranks differ"), HasSubstr(", loop 1 over mine()"),
                               HasSubstr(", loop 2 over mine()")));
  });
  recover();
}

TEST(Parts, RefuseOtherRunningStatisticsOnAnotherRank) {
  const auto differ = [](const Tensor& first, double keep_of_first, const Tensor& second, double keep_of_second) {
    std::string message;
    as_ranks(2, [&](const dist::World& world) {
      const Tensor running = (world.rank() == 0 ? first : second).clone(), w = parameter(ones({2}));
      const double keep = world.rank() == 0 ? keep_of_first : keep_of_second;
      optim::SGD sgd({w}, {.lr = 1});
      dist::Parts parts(world, 2);
      for (const int part : parts.mine()) {
        nn::update_running(running, keep, full(running.shape(), part, {.dtype = running.dtype()}), 1);
        sum(w).backward();
        parts.add(sgd);
      }
      parts.average(sgd);
      const std::string own = message_of([&] { running.wait(); });
      if (world.rank() == 0) message = own;
      EXPECT_EQ(dist::sum(ones({1}), world).item(), 2) << "the next call";
    });
    recover();
    return message;
  };
  EXPECT_EQ(differ(zeros({6}), 0.5, zeros({6}), 0.5), "nothing was thrown");
  const std::string shapes = differ(zeros({6}), 0.5, zeros({2, 3}), 0.5);
  EXPECT_THAT(shapes, HasSubstr("running statistics: keep 0.5 of float32 (6); rank 1 calls Parts.average of"));
  EXPECT_THAT(shapes, HasSubstr("running statistics: keep 0.5 of float32 (2, 3)."));
  const std::string types = differ(zeros({6}), 0.5, zeros({6}, {.dtype = float64}), 0.5);
  EXPECT_THAT(types, HasSubstr("running statistics: keep 0.5 of float64 (6)."));
  EXPECT_THAT(differ(zeros({6}), 0.5, zeros({6}), 0.25), HasSubstr("running statistics: keep 0.25 of float32 (6)."));
}

// --- Loops that an exception leaves.

// What a rank has caught, in a step of which the last part fails as `fail` does.
std::string caught(dist::Parts& parts, const std::function<Tensor()>& fail) {
  const Tensor w = parameter(ones({2})), other = parameter(ones({2}));
  optim::SGD sgd({w, other}, {.lr = 1});
  std::string message = "nothing was thrown";
  try {
    for (const int part : parts.mine()) {
      Tensor loss = sum(w * part);
      if (part == 1) loss = loss + sum(other);  // so that there are ranks that lack its gradient
      if (part == parts.count() - 1) loss = loss + sum(fail());
      loss.backward();
      parts.add(sgd);
    }
    parts.average(sgd);
    sgd.step();
    w.wait();
  } catch (const std::exception& error) {
    message = error.what();
  }
  sgd.zero_grad();
  return message;
}

// All other ranks have the cause at once, and all go on together.
TEST(Parts, TellOtherRanksThatAnExceptionHasLeftTheLoop) {
  const EngineOptions before = engine_options();
  struct Case {
    std::function<Tensor()> fail;
    std::string own, of_others;
  };
  const std::vector<Case> cases{
      {[]() -> Tensor { throw std::runtime_error("no rows today"); }, "no rows today", " in part 3"},
      {[] {
         return matmul(ones({2, 3}), ones({2, 3}));
       },
       "[matmul] inner dimensions differ", " in part 3: the last Error here was [matmul] inner dimensions differ"},
      // Under Schedule::immediate it throws at its call, and otherwise at the wait.
      {[] {
         const Tensor x = custom("reading", {.shape = {2}}, {},
                                 [](const CustomCall&) { throw std::runtime_error("the disk is full"); });
         x.wait();
         return x;
       },
       "[reading] the disk is full", " in part 3: the last Error here was [reading] the disk is full"}};
  for (const Schedule schedule : {Schedule::oldest_first, Schedule::immediate}) {
    EngineOptions options = before;
    options.schedule = schedule;
    set_engine_options(options);
    for (const Case& one : cases) {
      for (const int ranks : {2, 4}) {
        as_ranks(ranks, [&](const dist::World& world) {
          dist::Parts parts(world, 4);
          const std::string message = caught(parts, one.fail);
          if (world.rank() == ranks - 1) {
            EXPECT_THAT(message, HasSubstr(one.own));
          } else {
            EXPECT_THAT(message, HasSubstr(fmt::format("rank {}: [Parts.mine] an exception has left the loop at "
                                                       "parts_mistakes_test.cpp:",
                                                       ranks - 1)));
            EXPECT_THAT(message, HasSubstr(one.of_others));
          }
          const Tensor v = parameter(ones({2}));
          optim::SGD sgd({v}, {.lr = 1});
          train_step(parts, sgd, v);
          EXPECT_EQ(v.grad().to_vector<float>(), std::vector<float>(2, 1.5F)) << "the next step";
        });
        recover();
      }
    }
  }
  set_engine_options(before);
}

// So that random numbers are the same on any number of ranks also after an exception that the program has caught.
TEST(Parts, CountAStepThatAnExceptionHasLeft) {
  for (const int ranks : {1, 2}) {
    as_ranks(ranks, [&](const dist::World& world) {
      dist::Parts parts(world, 4);
      caught(parts, []() -> Tensor { throw std::runtime_error("no rows today"); });
      EXPECT_EQ(*kept_numbers(parts).at("step"), 1);
      for (const int part : parts.mine()) {
        if (part >= 0) break;
      }
      EXPECT_EQ(*kept_numbers(parts).at("step"), 1) << "a loop that the program has left otherwise";
    });
    recover();
  }
}

// The exceptions of all ranks, of which none comes to the average.
TEST(Parts, GoOnAfterExceptionsOnAllRanks) {
  as_ranks(2, [&](const dist::World& world) {
    dist::Parts parts(world, 4);
    const Tensor w = parameter(ones({2}));
    optim::SGD sgd({w}, {.lr = 1});
    EXPECT_THROW(
        {
          for (int part : parts.mine()) {
            if (part >= 0) throw std::runtime_error("no rows today");
          }
        },
        std::runtime_error);
    train_step(parts, sgd, w);
    EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(2, 1.5F));
  });
}

}  // namespace
}  // namespace asyncgrad::tests
