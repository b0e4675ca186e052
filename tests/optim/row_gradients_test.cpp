// Gradients of embeddings that are kept by rows, beside those that are tensors.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/optim/kinds.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using tests::message_of;

using Indices = std::vector<std::int64_t>;

Tensor tensor_of(const Indices& indices) { return Tensor::from(indices, {indices.size()}); }

// Its first values depend on its size alone.
nn::Embedding table(std::int64_t count, std::int64_t features, bool by_rows, DType dtype = float64) {
  Generator generator(7);
  return {count, features, {.row_gradients = by_rows, .dtype = dtype, .generator = &generator}};
}

// A loss that gives equal rows different gradients.
Tensor loss_of(const Tensor& rows) {
  const std::int64_t count = rows.shape().numel();
  return sum(square(rows + arange(0, static_cast<double>(count), 1, {.dtype = rows.dtype()}).reshape(rows.shape()))) *
         (0.01 / static_cast<double>(std::max<std::int64_t>(1, count)));
}

// Many look-ups, most of them of a few rows.
Tensor many_indices(std::int64_t count, std::int64_t rows, std::uint64_t seed) {
  Generator generator(seed);
  const Tensor x = randint(0, rows, {count / 10, 10}, {.generator = &generator});
  return floor_divide(x * x, rows);
}

class RowGradients : public testing::TestWithParam<Kind> {};

// The first step uses all rows, so that the formula begins at the same step for all.
TEST_P(RowGradients, UsedRowsFollowTheFormulaAndOthersStay) {
  const std::vector<Indices> steps{{0, 1, 2, 4, 5}, {5, 2, 5, 5}, {}, {0}, {1, 1, 2, 0}};
  for (const Options& options : {Options{}, with_all}) {
    const nn::Embedding embedding = table(6, 3, true);
    const std::unique_ptr<Optimizer> optimizer = GetParam().make({embedding.weight}, options);
    std::vector<Values> elements;
    for (const double value : embedding.weight.to_vector<double>()) elements.push_back({value, 0, 0, 0});
    for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
      Indices rows = steps[static_cast<std::size_t>(step)];
      const Tensor first = loss_of(embedding(tensor_of(rows))), second = loss_of(embedding(tensor_of({3, 0, 3})));
      rows.insert(rows.end(), {3, 0});
      const Values gradient = grad(first + second, embedding.weight, {}, {.retain_graph = true})[0].to_vector<double>();
      const Values before = embedding.weight.to_vector<double>();
      optimizer->zero_grad();
      first.backward();
      second.backward();
      optimizer->step();
      const Values after = embedding.weight.to_vector<double>();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if (std::ranges::find(rows, static_cast<std::int64_t>(i / 3)) == rows.end()) {
          EXPECT_EQ(after[i], before[i]);
          continue;
        }
        GetParam().formula(options, step + 1, gradient[i], elements[i]);
        EXPECT_NEAR(after[i], elements[i][0], 1e-12) << "step " << step << ", element " << i;
      }
    }
  }
}

// The same training in several ways: its values in the end.
std::vector<float> trained(const Kind& kind, const EngineOptions& engine, bool waits) {
  set_engine_options(engine);
  const nn::Embedding embedding = table(20'000, 20, true, float32);
  const std::unique_ptr<Optimizer> optimizer = kind.make({embedding.weight}, with_all);
  for (std::uint64_t step = 0; step < 4; ++step) {
    optimizer->zero_grad();
    for (const std::uint64_t part : {0, 1}) {
      const Tensor loss = loss_of(embedding(many_indices(9000, 20'000, 2 * step + part)));
      loss.backward();
      if (waits) loss.wait();
    }
    clip_norm({embedding.weight}, 1e-3);
    optimizer->step();
  }
  return embedding.weight.to_vector<float>();
}

TEST_P(RowGradients, GiveTheSameBitsInEveryWay) {
  const std::vector<float> expected =
      trained(GetParam(), {.workers = 1, .schedule = asyncgrad::Schedule::immediate}, false);
  EXPECT_EQ(trained(GetParam(), {.workers = 1}, true), expected);
  EXPECT_EQ(trained(GetParam(), {.workers = 3}, false), expected);
  EXPECT_EQ(trained(GetParam(), {.workers = 2, .schedule = asyncgrad::Schedule::first_ready}, false), expected);
  set_engine_options({});
}

// If the gradient cannot be computed, the weight, its state and its count stay as they were.
TEST_P(RowGradients, AFailedStepLeavesAllAsItWas) {
  const auto train = [](int failing_step) {
    const nn::Embedding embedding = table(5000, 30, true);  // the steps have several counts
    const std::unique_ptr<Optimizer> optimizer = GetParam().make({embedding.weight}, with_all);
    for (int step = 0; step < 3; ++step) {
      optimizer->zero_grad();
      if (step == failing_step) {
        sum(embedding(tensor_of({0, 5000}))).backward();
        optimizer->step();
        EXPECT_THAT(message_of([&] { embedding.weight.wait(); }), HasSubstr("index 5000 at position 1"));
        recover();
        optimizer->zero_grad();
      }
      loss_of(embedding(many_indices(6000, 5000, static_cast<std::uint64_t>(step)))).backward();
      optimizer->step();
    }
    return embedding.weight.to_vector<double>();
  };
  const Values undisturbed = train(-1);
  EXPECT_EQ(train(0), undisturbed);
  EXPECT_EQ(train(2), undisturbed);
}

INSTANTIATE_TEST_SUITE_P(All, RowGradients, testing::ValuesIn(kinds),
                         [](const auto& info) { return std::string(info.param.name); });

// Trains twice by SGD, with gradients by rows and without, and expects the same bits.
void expect_same_bits(const std::function<void(const nn::Embedding& embedding, SGD& sgd)>& train,
                      DType dtype = float64) {
  std::vector<Values> results;
  for (const bool by_rows : {false, true}) {
    const nn::Embedding embedding = table(1000, 37, by_rows, dtype);
    SGD sgd({embedding.weight}, {.lr = 0.3});
    train(embedding, sgd);
    results.push_back(embedding.weight.to(float64).to_vector<double>());
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(RowGradientsOfSgd, HaveTheBitsOfTensors) {
  for (const DType dtype : {float32, float64}) {
    expect_same_bits(
        [](const nn::Embedding& embedding, SGD& sgd) {
          for (std::uint64_t step = 0; step < 3; ++step) {
            sgd.zero_grad();
            for (const std::int64_t count : {5000, 20}) {
              loss_of(embedding(many_indices(count, 1000, step))).backward();
            }
            sgd.step();
            sgd.step();
          }
        },
        dtype);
  }
}

// Another operation adds a tensor to the gradient, before the look-ups or after them.
TEST(RowGradientsOfSgd, BecomeTensorsBesideOtherOperations) {
  const Tensor indices = many_indices(50, 1000, 1);
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    for (int step = 0; step < 3; ++step) {
      sgd.zero_grad();
      loss_of(embedding.scores(embedding(indices))).backward();
      EXPECT_EQ(embedding.weight.grad().shape(), Shape(1000, 37));
      loss_of(embedding(indices)).backward();
      sgd.step();
    }
  });
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    const Tensor scores = embedding.scores(ones({2, 37}, {.dtype = float64}));
    (loss_of(embedding(indices)) + loss_of(embedding(indices)) + sum(scores)).backward();
    EXPECT_EQ(embedding.weight.grad().shape(), Shape(1000, 37));
    sgd.step();
    sum(take(embedding.weight, indices)).backward();
    sgd.step();
  });
}

TEST(RowGradientsOfSgd, FollowTheTape) {
  const Tensor indices = many_indices(50, 1000, 1);
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    const Tensor loss = loss_of(embedding(indices));
    loss.backward(/*retain_graph=*/true);
    loss.backward();
    sgd.step();
  });
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    loss_of(nn::recompute([&](const Arg& x) { return tanh(embedding(x)); }, indices)).backward();
    sgd.step();
  });
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    const Tensor loss = loss_of(embedding(indices));
    const Tensor gradient = grad(loss, embedding.weight, {}, {.create_graph = true})[0];
    (loss + sum(square(gradient))).backward();
    sgd.step();
  });
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    Tensor dy = ones({5, 10, 37}, {.dtype = float64});
    embedding(indices).backward(dy);
    dy.fill_(9);  // the program may go on using what it gave
    sgd.step();
  });
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    Tensor own = indices.clone();
    loss_of(embedding(own)).backward();
    own.fill_(0);
    sgd.step();
  });
  expect_same_bits([&](const nn::Embedding& embedding, SGD& sgd) {
    loss_of(embedding(zeros({0, 4}, {.dtype = int64}))).backward();
    loss_of(embedding(full({}, 3, {.dtype = int32}))).backward();
    sgd.step();
  });
}

TEST(RowGradientsOfSgd, AreKeptByCopiesOfTheLayer) {
  const nn::Embedding copy = nn::clone(table(6, 3, true));
  loss_of(copy(tensor_of({1}))).backward();
  EXPECT_EQ(message_of([&] { copy.weight.grad(); }),
            "[grad] the gradient of (6, 3) is kept by rows, for step() and clip_norm(); without row_gradients it is a "
            "tensor, and ag::grad() computes one");
  Tensor weight = copy.weight;
  weight.zero_grad();
  EXPECT_FALSE(copy.weight.grad().defined());
}

TEST(RowGradientsOfSgd, AreShortened) {
  std::vector<Values> results, norms;
  for (const bool by_rows : {false, true}) {
    const nn::Embedding embedding = table(50, 3, by_rows);
    const Tensor other = leaf({1, 2});
    SGD sgd({embedding.weight, other}, {.lr = 1});
    for (std::uint64_t step = 0; step < 3; ++step) {  // gradients are added to what was shortened
      (loss_of(embedding(many_indices(40, 50, step))) + sum(other)).backward();
      norms.push_back({clip_norm({embedding.weight, other, embedding.weight}, 0.5).item()});
      sgd.step();
    }
    results.push_back(embedding.weight.to_vector<double>());
    results.push_back(other.to_vector<double>());
  }
  EXPECT_THAT(results[2], Pointwise(DoubleNear(1e-12), results[0]));
  EXPECT_THAT(results[3], Pointwise(DoubleNear(1e-12), results[1]));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(norms[i][0], norms[3 + i][0], 1e-12);
}

TEST(RowGradientsOfAdam, TakeMemoryByTheirLookUps) {
  const nn::Embedding embedding = table(20'000, 32, true);
  Adam adam({embedding.weight}, {});
  for (std::uint64_t step = 0; step < 3; ++step) {
    wait_all();
    reset_peaks();
    const std::int64_t live = memory_figures().live_bytes;
    adam.zero_grad();
    loss_of(embedding(many_indices(30, 20'000, step))).backward();
    clip_norm({embedding.weight}, 1e-3);
    adam.step();
    wait_all();
    EXPECT_LT(memory_figures().peak_live_bytes - live, 16 * 30 * 32 * 8);
  }
}

TEST(RowGradientsOfAdam, AreCountedInADryRun) {
  set_engine_options({.schedule = asyncgrad::Schedule::dry_run});
  {
    const nn::Embedding embedding = table(20'000, 32, true);
    Adam adam({embedding.weight}, {});
    reset_peaks();
    const std::int64_t live = memory_figures().serial_live_bytes;
    loss_of(embedding(many_indices(30, 20'000, 1))).backward();
    adam.step();
    const std::int64_t taken = memory_figures().serial_peak_bytes - live;
    EXPECT_GT(taken, 30 * 32 * 8);
    EXPECT_LT(taken, 16 * 30 * 32 * 8);
  }
  set_engine_options({});
}

}  // namespace
}  // namespace asyncgrad::optim
