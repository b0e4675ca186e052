// What ranks compute together, with threads as ranks.
#include "asyncgrad/dist/collectives.h"

#include <gmock/gmock.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/tensor_impl.h"
#include "asyncgrad/dist/overlap.h"
#include "asyncgrad/dist/piece.h"
#include "asyncgrad/dist/tree_sum.h"
#include "tests/dist/thread_transport.h"
#include "tests/support/message_of.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

std::vector<float> numbers(std::int64_t count, std::int64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(
        static_cast<float>(data::split_mix(static_cast<std::uint64_t>(seed * 1000003 + i)) >> 40) * 0x1p-20F - 4.0F);
  }
  return values;
}
Tensor tensor_of(std::int64_t count, std::int64_t seed) { return Tensor::from(numbers(count, seed), {count}); }

// The sum of the ranks' numbers, as collectives.h says.
float tree(const std::vector<float>& values, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return values[begin];
  const std::size_t middle = begin + (end - begin) / 2;
  return tree(values, begin, middle) + tree(values, middle, end);
}

std::vector<float> expected_sum(int ranks, std::int64_t count, std::int64_t seed) {
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(numbers(count, seed + rank));
  std::vector<float> sums;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::vector<float> values;
    for (const std::vector<float>& of_rank : all) values.push_back(of_rank[i]);
    sums.push_back(tree(values, 0, values.size()));
  }
  return sums;
}

TEST(Cut, PacksSmallTensorsAndSplitsLargeOnes) {
  std::vector<Tensor> tensors{zeros({9}), zeros({0}), zeros({90}), zeros({1}), zeros({2}, {.dtype = float64}),
                              zeros({1})};
  for (int i = 0; i < 5; ++i) tensors.push_back(zeros({9}));
  const std::vector<dist::Piece> pieces = dist::cut(tensors, 160);
  std::vector<std::vector<std::size_t>> packed;
  std::int64_t bytes = 0;
  for (const dist::Piece& piece : pieces) {
    EXPECT_LE(piece.size_bytes, 160);
    packed.emplace_back();
    std::int64_t of_segments = 0;
    for (const dist::Segment& segment : piece.segments) {
      packed.back().push_back(segment.tensor);
      of_segments += segment.size_bytes;
      EXPECT_EQ(piece.dtype, tensors[segment.tensor].dtype());
    }
    EXPECT_EQ(piece.size_bytes, of_segments);
    bytes += of_segments;
  }
  EXPECT_EQ(packed, (std::vector<std::vector<std::size_t>>{{2}, {2}, {2}, {0, 3}, {4}, {5, 6, 7, 8, 9}, {10}}));
  EXPECT_EQ(pieces[1].segments[0].begin_bytes, 160);
  EXPECT_EQ(pieces[2].segments[0].size_bytes, 40);
  EXPECT_EQ(bytes, 4 * (9 + 90 + 1 + 1 + 45) + 16);
}

TEST(Sum, IsATreeOverTheRanks) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    as_ranks(ranks, [&](const dist::World& world) {
      EXPECT_EQ(world.size(), ranks);
      for (const std::int64_t count : {0, 1, 7, 1000}) {
        const Tensor total = dist::sum(tensor_of(count, 17 + world.rank()), world);
        EXPECT_EQ(total.to_vector<float>(), expected_sum(ranks, count, 17)) << ranks << " ranks, " << count;
      }
      const Tensor count = dist::sum(Tensor::from({std::int64_t{1} << world.rank()}, {1}), world);
      EXPECT_EQ(count.item<std::int64_t>(), (std::int64_t{1} << ranks) - 1);
      const Tensor wrapped = dist::sum(Tensor::from({std::numeric_limits<std::int64_t>::max()}, {1}), world);
      EXPECT_EQ(static_cast<std::uint64_t>(wrapped.item<std::int64_t>()),
                static_cast<std::uint64_t>(ranks) * std::numeric_limits<std::int64_t>::max());
    });
  }
}

TEST(Sum, TakesSeveralTensorsTogether) {
  as_ranks(2, [&](const dist::World& world) {
    const std::vector<Tensor> totals =
        dist::sum(std::vector{tensor_of(5, world.rank()), tensor_of(3, 7 + world.rank())}, world);
    EXPECT_EQ(totals[0].to_vector<float>(), expected_sum(2, 5, 0));
    EXPECT_EQ(totals[1].to_vector<float>(), expected_sum(2, 3, 7));
    EXPECT_EQ(world.figures().moves, 1);
  });
}

TEST(Sum, IsCutIntoPieces) {
  const std::int64_t count = 2 * dist::max_piece_bytes / 4 + 5;
  const std::vector<float> expected = expected_sum(3, count, 0);
  as_ranks(3, [&](const dist::World& world) {
    const Tensor total = dist::sum(tensor_of(count, world.rank()), world);
    const bool is_equal = total.to_vector<float>() == expected;
    EXPECT_TRUE(is_equal);
  });
}

TEST(Sum, RefusesOtherTypes) {
  as_ranks(1, [](const dist::World& world) {
    EXPECT_THAT(message_of([&] { dist::sum(zeros({2}, {.dtype = uint8}), world); }),
                HasSubstr("[sum] ranks add float32, float64 and int64, not uint8; x.to(ag::float32) converts it"));
  });
}

TEST(Broadcast, GivesAllRanksTheValuesOfTheFirst) {
  as_ranks(3, [](const dist::World& world) {
    const Tensor weight = parameter(tensor_of(6, world.rank()).reshape({2, 3}));
    const nn::Sequential net{nn::Dense(3, 2)};
    nn::parameters(net)[0].detach() += world.rank();
    Tensor scale = full({3}, world.rank());
    dist::broadcast_tensors({weight, scale, scale}, world);
    EXPECT_EQ(weight.to_vector<float>(), numbers(6, 0));
    EXPECT_EQ(scale.to_vector<float>(), std::vector<float>(3, 0));
    const Tensor first = nn::parameters(net)[0].detach().clone() - world.rank();
    dist::broadcast(net, world);
    if (world.rank() == 0) {
      EXPECT_EQ(nn::parameters(net)[0].to_vector<float>(), first.to_vector<float>());
    }
    std::vector<Tensor> list{full({2}, world.rank()), Tensor(), full({}, world.rank() + 5)};
    dist::broadcast(list, world);
    dist::broadcast(scale, world);
    EXPECT_EQ(list[0].to_vector<float>(), std::vector<float>(2, 0));
    EXPECT_EQ(list[2].item(), 5);
    nn::RecurrentStart start{.h = full({2}, world.rank())};
    dist::broadcast(start, world);
    EXPECT_EQ(start.h.to_vector<float>(), std::vector<float>(2, 0));
  });
}

// One training, the same on every rank but for its rows.
struct Training {
  nn::Sequential net{nn::Dense(6, 16, relu), nn::Dense(16, 8, tanh), nn::Dense(8, 1)};
  optim::Adam adam{nn::parameters(net), {.lr = 0.01}};

  Tensor loss(int step, int index, int count) const {
    const std::int64_t rows = 24 / count;
    const Tensor x = tensor_of(24 * 6, step).reshape({24, 6}), y = tensor_of(24, step + 99).reshape({24, 1});
    const auto part = [&](const Tensor& all) { return all(range(index * rows, (index + 1) * rows)); };
    return mean(nn::l2_loss(net(part(x)), part(y)));
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const Tensor& parameter : nn::parameters(net)) all.push_back(parameter.to_vector<float>());
    return all;
  }
};

std::vector<std::vector<float>> trained_parameters(int ranks, int steps) {
  std::vector<std::vector<std::vector<float>>> values(static_cast<std::size_t>(ranks));
  as_ranks(ranks, [&](const dist::World& world) {
    Training training;  // with other random values on every rank
    dist::broadcast(training.net, world);
    for (int step = 0; step < steps; ++step) {
      training.loss(step, world.rank(), world.size()).backward();
      dist::average_gradients(training.adam, world);
      training.adam.step();
      training.adam.zero_grad();
    }
    values[static_cast<std::size_t>(world.rank())] = training.values();
  });
  for (int rank = 1; rank < ranks; ++rank) {
    EXPECT_EQ(values[static_cast<std::size_t>(rank)], values[0]) << "rank " << rank << " of " << ranks;
  }
  return values[0];
}

TEST(AverageGradients, KeepsTheParametersEqual) {
  for (const int ranks : {2, 3, 4}) {
    const auto once = trained_parameters(ranks, 12);
    EXPECT_EQ(trained_parameters(ranks, 12), once) << "another time";
  }
}

TEST(AverageGradients, IsTheSameUnderEverySchedule) {
  const auto expected = trained_parameters(2, 6);
  const EngineOptions before = engine_options();
  for (const Schedule schedule : {Schedule::first_ready, Schedule::immediate}) {
    EngineOptions options = before;
    options.schedule = schedule;
    set_engine_options(options);
    EXPECT_EQ(trained_parameters(2, 6), expected) << name_of(schedule);
  }
  set_engine_options(before);
}

TEST(AverageGradients, AveragesInPlaceButNotWhatTheProgramHolds) {
  as_ranks(2, [](const dist::World& world) {
    const Tensor x = parameter(ones({3})), y = parameter(ones({2}));
    optim::SGD sgd({x, y}, {.lr = 1});
    (sum(x * (world.rank() + 1)) + sum(y * 2)).backward();
    const Tensor held = y.grad();
    const Tensor before = x.grad();
    const auto* const storage = before.impl();
    dist::average_gradients(sgd, world);
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(3, 1.5F));
    EXPECT_NE(x.grad().impl(), storage) << "the program holds it";
    EXPECT_EQ(before.to_vector<float>(), std::vector<float>(3, static_cast<float>(world.rank() + 1)));
    EXPECT_EQ(held.to_vector<float>(), std::vector<float>(2, 2));
  });
}

TEST(AverageGradients, CountsAnAbsentGradientAsZeros) {
  as_ranks(2, [](const dist::World& world) {
    const Tensor both = parameter(ones({2})), one = parameter(ones({2})), none = parameter(ones({2}));
    optim::SGD sgd({both, one, none}, {.lr = 1});
    (world.rank() == 0 ? sum(both * 4) : sum(both * 2) + sum(one * 8)).backward();
    dist::average_gradients(sgd, world);
    EXPECT_EQ(both.grad().to_vector<float>(), std::vector<float>(2, 3));
    EXPECT_EQ(one.grad().to_vector<float>(), std::vector<float>(2, 4));
    EXPECT_FALSE(none.grad().defined());
    sgd.step();
    EXPECT_EQ(none.to_vector<float>(), std::vector<float>(2, 1));
  });
}

TEST(AverageGradients, TakesGradientsThatAreKeptByRows) {
  as_ranks(2, [](const dist::World& world) {
    nn::Embedding table(5, 2, {.row_gradients = true});
    optim::SGD sgd(nn::parameters(table), {.lr = 1});
    sum(table(Tensor::from({std::int64_t{world.rank()}, std::int64_t{4}}, {2}))).backward();
    dist::average_gradients(sgd, world);
    EXPECT_EQ(nn::parameters(table)[0].grad().to_vector<float>(),
              (std::vector<float>{0.5F, 0.5F, 0.5F, 0.5F, 0, 0, 0, 0, 1, 1}));
  });
}

TEST(World, OfOneQueuesNothing) {
  const dist::World world = dist::world();
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.share().count, 1);
  Generator generator(0);
  const GeneratorScope scope(generator);
  Training training;
  training.loss(0, 0, 1).backward();
  wait_all();
  const auto before = engine_figures();
  dist::broadcast(training.net, world);
  dist::average_gradients(training.adam, world);
  const Tensor x = ones({2});
  EXPECT_EQ(dist::sum(x, world).impl()->storage, x.impl()->storage);
  EXPECT_EQ(engine_figures().operations, before.operations + 1) << "ones() alone";
}

// As a program does that was built with -ffast-math: the threads that it makes inherit this.
TEST(Sum, KeepsSmallNumbersWhateverTheProgramHasSet) {
#ifdef __SSE__
  constexpr unsigned flushes_to_zero = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | flushes_to_zero);
  std::vector<float> sums(2);
  as_ranks(2, [&](const dist::World& world) {
    const Tensor smallest = Tensor::from(std::vector<float>{1e-40F}, {1});
    sums[static_cast<std::size_t>(world.rank())] = dist::sum(smallest, world).to_vector<float>()[0];
  });
  _mm_setcsr(before);
  EXPECT_EQ(sums, std::vector<float>(2, 1e-40F + 1e-40F));
#endif
}

TEST(Overlap, CountsWhatPassesWhileNothingIsComputed) {
  dist::Figures figures;
  EXPECT_EQ(figures.hidden_share(), 1);
  dist::Overlap overlap;
  const auto at = [](int ms) { return dist::Overlap::Time() + std::chrono::milliseconds(ms); };
  overlap.begin(at(1000));
  overlap.look(at(1300), true);
  overlap.look(at(1400), false);
  overlap.add_to(figures);
  overlap.begin(at(2000));
  overlap.look(at(2100), false);
  overlap.add_to(figures);
  EXPECT_EQ(figures.moves, 2);
  EXPECT_DOUBLE_EQ(figures.moving_s, 0.5);
  EXPECT_DOUBLE_EQ(figures.exposed_s, 0.2);
  EXPECT_DOUBLE_EQ(figures.hidden_share(), 0.6);
}

TEST(Figures, CountPiecesAndASimulatedLink) {
  as_ranks(2, [](const dist::World& world) {
    EXPECT_EQ(world.figures().moves, 0);
    dist::sum(ones({1000}), world).wait();
    world.communicator()->set_link(40000);  // 4,000 bytes come in, half of them in each of two calls
    const double before_s = world.figures().moving_s;
    dist::sum(ones({1000}), world).wait();
    const dist::Figures figures = world.figures();
    EXPECT_EQ(figures.moves, 2);
    EXPECT_EQ(figures.received_bytes, 8000);
    EXPECT_GE(figures.moving_s - before_s, 0.1);
    EXPECT_LE(figures.exposed_s, figures.moving_s);
  });
}

}  // namespace
}  // namespace asyncgrad::tests
