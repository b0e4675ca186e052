#include "asyncgrad/optim/sgd.h"

#include <cmath>

#include "tests/optim/gradients.h"

namespace asyncgrad::optim {
namespace {

using testing::HasSubstr;
using tests::message_of;

// The formula of sgd.h, written plainly.
class SgdReference {
 public:
  SgdReference(Values parameter, SGDOptions options) : p_(std::move(parameter)), v_(p_.size(), 0), options_(options) {}
  void step(const Values& gradient) {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const double g = gradient[i] + options_.weight_decay * p_[i];
      v_[i] = options_.momentum * v_[i] + g;
      p_[i] -= options_.lr * (options_.nesterov ? g + options_.momentum * v_[i] : v_[i]);
    }
  }
  const Values& parameter() const { return p_; }

 private:
  Values p_, v_;
  SGDOptions options_;
};

TEST(SGD, FollowsTheFormulaWithEveryOption) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double weight_decay : {0.0, 0.1}) {
      for (const bool nesterov : {false, true}) {
        if (nesterov && momentum == 0) continue;
        SCOPED_TRACE(testing::Message() << momentum << " " << weight_decay << " " << nesterov);
        const SGDOptions options{.lr = 0.3, .momentum = momentum, .weight_decay = weight_decay, .nesterov = nesterov};
        const Values a{1, -2, 3}, b{0.5};
        SGD sgd({leaf(a), leaf(b)}, options);
        expect_steps_of<SgdReference>({{a, options}, {b, options}}, sgd);
      }
    }
  }
}

TEST(SGD, AParameterMayGetItsFirstGradientLater) {
  const SGDOptions options{.lr = 0.1, .momentum = 0.5};
  const Tensor p = leaf({1}), late = leaf({2});
  SGD sgd({p, late}, options);
  give_gradient(p, {1});
  sgd.step();
  give_gradient(late, {1});
  sgd.step();
  EXPECT_NEAR(late.item(), 1.9, 1e-12);
  EXPECT_NEAR(p.item(), 1 - 0.1 - 0.15, 1e-12);  // its gradient stayed
}

TEST(SGD, ItsOwnOptionsAreChecked) {
  const auto with = [](SGDOptions options) { return message_of([&] { SGD({leaf({1})}, options); }); };
  const double nan = std::nan("");
  EXPECT_THAT(with({.momentum = -0.5}), HasSubstr("momentum must be finite and not negative, got -0.5"));
  EXPECT_THAT(with({.momentum = nan}), HasSubstr("momentum must be"));
  EXPECT_EQ(with({.nesterov = true}), "[SGD] nesterov needs momentum, got momentum 0");
}

}  // namespace
}  // namespace asyncgrad::optim
