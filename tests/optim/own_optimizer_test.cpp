// An optimiser that a program derives: examples/own_optimizer.cpp shows a whole one.
#include <memory>

#include "asyncgrad/optim/optimizer.h"
#include "tests/optim/gradients.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace asyncgrad::optim {
namespace {

class Counting final : public Optimizer {
 public:
  explicit Counting(std::vector<Tensor> parameters, Location where = Location::current()) : Optimizer("Counting") {
    Group group = made(std::move(parameters), 0.5, where);
    add_state(group, "sums", 0, Location::current());
    add(std::move(group));
  }
  void members(nn::Members& m) override {
    Optimizer::members(m);
    m("steps", steps);
  }
  int steps = 0;

 private:
  void update(std::size_t /*number*/, const Group& group, Location /*where*/) override {
    const NoGrad no_grad;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      Tensor parameter = group.parameters[i], total = group.states[0].tensors[i];
      total += parameter.grad();
      parameter -= group.lr * total;
    }
    ++steps;
  }
};

TEST(OwnOptimizer, ItsErrorsNameTheProgramsLine) {
  const int line = __LINE__ + 1;
  const std::string message = tests::whole_message_of([] { Counting{{}}; });
  EXPECT_THAT(message, testing::HasSubstr("own_optimizer_test.cpp:" + std::to_string(line)));
}

TEST(OwnOptimizer, IsSavedWithItsFurtherMembersWhateverItIsCalled) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.file("own");
  const auto step = [](Optimizer& optimizer, const Tensor& x) {
    optimizer.zero_grad();
    sum(x * x).backward();
    optimizer.step();
  };
  const Tensor x = parameter(ones({2}));
  const std::unique_ptr<Optimizer> saved = std::make_unique<Counting>(std::vector<Tensor>{x});
  step(*saved, x);
  step(*saved, x);
  Checkpoint().add("optimizer", *saved).save(path);
  step(*saved, x);

  const Tensor y = parameter(zeros({2}));
  const auto loaded = std::make_unique<Counting>(std::vector<Tensor>{y});
  Optimizer& base = *loaded;
  Checkpoint().add("optimizer", base).load(path);
  EXPECT_EQ(loaded->steps, 2);
}

}  // namespace
}  // namespace asyncgrad::optim
