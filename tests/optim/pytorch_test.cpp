// Optimisers and schedules beside those of PyTorch: references.py.
#include "tests/optim/pytorch.h"

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

template <class Kind, class Options>
Values after_steps(Options options) {
  const Tensor p = leaf({1, -2, 3});
  Kind optimizer({p}, options);
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    give_gradient(p, gradient_of_step(step, 3));
    optimizer.step();
  }
  return p.to_vector<double>();
}

auto as_in_pytorch(const std::string& name) { return Pointwise(DoubleNear(1e-14), pytorch.at(name)); }

TEST(PyTorch, HasTheSameSGD) {
  EXPECT_THAT(after_steps<SGD>(SGDOptions{.lr = 0.1, .weight_decay = 0.1}), as_in_pytorch("sgd"));
  EXPECT_THAT(after_steps<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}),
              as_in_pytorch("sgd_momentum"));
  EXPECT_THAT(after_steps<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
              as_in_pytorch("sgd_nesterov"));
}

TEST(PyTorch, HasTheSameAdam) {
  EXPECT_THAT(after_steps<Adam>(AdamOptions{.lr = 0.1, .weight_decay = 0.1}), as_in_pytorch("adam"));
  EXPECT_THAT(after_steps<AdamW>(AdamWOptions{.lr = 0.1}), as_in_pytorch("adam_w"));
}

TEST(PyTorch, HasTheSameAdagrad) {
  EXPECT_THAT(after_steps<Adagrad>(AdagradOptions{.lr = 0.1}), as_in_pytorch("adagrad"));
  EXPECT_THAT(
      after_steps<Adagrad>(AdagradOptions{.lr = 0.1, .epsilon = 0.01, .weight_decay = 0.1, .initial_accumulator = 0.5}),
      as_in_pytorch("adagrad_all"));
}

TEST(PyTorch, HasTheSameRMSprop) {
  EXPECT_THAT(after_steps<RMSprop>(RMSpropOptions{.lr = 0.1}), as_in_pytorch("rmsprop"));
  EXPECT_THAT(after_steps<RMSprop>(RMSpropOptions{.lr = 0.1, .alpha = 0.8, .epsilon = 0.01, .weight_decay = 0.1}),
              as_in_pytorch("rmsprop_decay"));
  EXPECT_THAT(after_steps<RMSprop>(RMSpropOptions{.lr = 0.1, .centered = true}), as_in_pytorch("rmsprop_centered"));
  EXPECT_THAT(after_steps<RMSprop>(RMSpropOptions{.lr = 0.1, .momentum = 0.9}), as_in_pytorch("rmsprop_momentum"));
  EXPECT_THAT(after_steps<RMSprop>(RMSpropOptions{
                  .lr = 0.1, .alpha = 0.8, .epsilon = 0.01, .weight_decay = 0.1, .momentum = 0.9, .centered = true}),
              as_in_pytorch("rmsprop_all"));
}

Values rates(Factor factor) {
  SGD sgd({leaf({0})}, {.lr = 1});
  Schedule schedule(sgd, std::move(factor));
  Values rates;
  for (int step = 0; step < 8; ++step, schedule.step()) rates.push_back(sgd.lr());
  return rates;
}

TEST(PyTorch, HasTheSameSchedules) {
  EXPECT_THAT(rates(steps(3, 0.5)), as_in_pytorch("steps_of_3_by_half"));
  EXPECT_THAT(rates(cosine(7, 0.1)), as_in_pytorch("cosine_of_7_to_tenth"));
}

TEST(PyTorch, ClipsTheSame) {
  for (const auto& [name, max_norm] : {std::pair{"clipped_to_1", 1.0}, {"clipped_to_9", 9.0}}) {
    const Tensor p = leaf({0, 0, 0}), q = parameter(zeros({2, 2}, {.dtype = float64}));
    give_gradient(p, gradient_of_step(0, 3));
    sum(q * Tensor::from(gradient_of_step(1, 4), {2, 2})).backward();
    Values values{clip_norm({p, q}, max_norm).item()};
    for (const Tensor& parameter : {p, q}) {
      for (const double value : parameter.grad().to_vector<double>()) values.push_back(value);
    }
    EXPECT_THAT(values, as_in_pytorch(name));
  }
}

}  // namespace
}  // namespace asyncgrad::optim
