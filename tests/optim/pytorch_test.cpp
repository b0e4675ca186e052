// Optimisers and schedules beside those of PyTorch: references.py.
#include "tests/optim/pytorch.h"

#include "tests/optim/kinds.h"

namespace asyncgrad::optim {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

auto values_in_pytorch(const std::string& name) { return Pointwise(DoubleNear(1e-14), pytorch.at(name)); }

TEST(PyTorch, HasTheSameOptimisers) {
  for (const PyTorchCase& c : as_in_pytorch) {
    SCOPED_TRACE(c.name);
    const Tensor p = leaf({1, -2, 3});
    const std::unique_ptr<Optimizer> optimizer = c.make({p});
    for (int step = 0; step < 5; ++step) {
      optimizer->zero_grad();
      give_gradient(p, gradient_of_step(step, 3));
      optimizer->step();
    }
    EXPECT_THAT(p.to_vector<double>(), values_in_pytorch(c.name));
  }
}

Values rates(Factor factor) {
  SGD sgd({leaf({0})}, {.lr = 1});
  Schedule schedule(sgd, std::move(factor));
  Values rates;
  for (int step = 0; step < 8; ++step, schedule.step()) rates.push_back(sgd.lr());
  return rates;
}

TEST(PyTorch, HasTheSameSchedules) {
  EXPECT_THAT(rates(steps(3, 0.5)), values_in_pytorch("steps_of_3_by_half"));
  EXPECT_THAT(rates(cosine(7, 0.1)), values_in_pytorch("cosine_of_7_to_tenth"));
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
    EXPECT_THAT(values, values_in_pytorch(name));
  }
}

}  // namespace
}  // namespace asyncgrad::optim
