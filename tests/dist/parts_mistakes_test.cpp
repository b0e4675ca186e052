// Trainings in parts whose programs make mistakes, or whose operations fail.
#include <gmock/gmock.h>

#include <cstdint>
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
          "loop over mine(), which begins again after an error"));
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
