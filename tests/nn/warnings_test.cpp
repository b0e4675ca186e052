// Warnings: each line gets each of them once, what is right gets none, and one line switches them off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace ag = asyncgrad;

namespace {

using ag::Tensor;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class Warnings : public testing::Test {
 public:
  Warnings() {
    before_ = ag::set_warning_handler([this](const ag::Warning& warning) { given_.push_back(warning); });
  }
  ~Warnings() override {
    ag::set_warning_handler(before_);
    ag::set_warnings(true);
  }

 protected:
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const ag::Warning& warning : given_) texts.push_back(warning.str());
    return texts;
  }
  std::vector<ag::Warning> given_;
  ag::WarningHandler before_;
};

std::string at(int line) { return ", at warnings_test.cpp:" + std::to_string(line); }

Tensor prediction() { return ag::nn::Dense(4, 1)(ag::ones({6, 4})); }

// --- An optimiser whose parameters the network has no more

TEST_F(Warnings, OfAnOptimiserThatGradientsReachNoMore) {
  ag::nn::Dense layer(4, 1);
  ag::optim::SGD sgd(ag::nn::parameters(layer), {.lr = 0.1});
  int line = 0;
  const auto train = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      ag::mean(ag::square(layer(ag::ones({6, 4})))).backward();
      line = __LINE__ + 1;
      sgd.step();
      sgd.zero_grad();
    }
  };
  train(20);
  layer = ag::nn::clone(layer);
  train(9);
  EXPECT_THAT(texts(), IsEmpty());
  train(11);
  EXPECT_THAT(texts(), ElementsAre(AllOf(HasSubstr("[SGD] none of its 2 parameters, the first one (4, 1), has had a "
                                                   "gradient in the last 10 steps, though backward() has run"),
                                         EndsWith(at(line)))));
}

// --- A loss that broadcasts

TEST_F(Warnings, OfALossThatComparesEachPredictionWithEveryLabel) {
  const Tensor labels = ag::ones({6});
  for (int step = 0; step < 3; ++step) {
    const int line = __LINE__ + 1;
    ag::mean(ag::square(prediction() - labels)).backward();
    EXPECT_THAT(texts(), ElementsAre("[subtract] x (6, 1) and y (6) broadcast to (6, 6) in a loss, which compares each "
                                     "prediction with every label; y.reshape({6, 1}) gives both one shape" +
                                     at(line)));
  }
}

TEST_F(Warnings, OfEveryFormOfSuchALoss) {
  const Tensor labels = ag::ones({6}), row = ag::ones({6, 1});
  const std::vector<std::function<Tensor()>> losses = {
      [&] { return ag::sum(ag::abs(labels - prediction())); },
      [&] { return ag::mean(ag::pow(row - prediction().reshape({6}), 2) / 2); },
      [&] { return ag::mean(ag::huber(prediction() - labels, 1)); },
      [&] { return ag::mean(ag::half_squared_error(prediction(), labels)); },
      [&] { return ag::mean(ag::absolute_error(prediction(), labels)); },
      [&] { return ag::sqrt(ag::mean(ag::mean(ag::square(prediction() - labels), 1))); },
      [&] {
        const ag::nn::Dense layer(2, 2);
        return ag::mean(ag::square(prediction() - labels)) + 0.1 * ag::sum(ag::square(layer.weight));
      },
  };
  for (const auto& loss : losses) {
    given_.clear();
    loss().backward();
    EXPECT_THAT(texts(), ElementsAre(HasSubstr("(6, 6)"))) << &loss - losses.data();
  }
}

TEST_F(Warnings, NotOfLossesThatCompareWhatBelongsTogether) {
  const Tensor labels = ag::ones({6});
  ag::mean(ag::nn::l2_loss(prediction(), labels)).backward();
  ag::mean(ag::nn::huber_loss(prediction(), labels)).backward();
  ag::mean(ag::square(prediction().reshape({6}) - labels)).backward();
  ag::mean(ag::square(prediction() - labels.reshape({6, 1}))).backward();
  ag::mean(ag::square(prediction() - 1)).backward();
  ag::mean(ag::square(prediction() - ag::ones({1}))).backward();
  ag::mean(ag::square(prediction().reshape({6}) - prediction().reshape({1, 6}))).backward();
  const Tensor p = prediction();
  ag::mean(ag::square(p - p.reshape({6}))).backward();                       // differences of all pairs
  ag::mean(ag::exp(-ag::square(prediction() - labels))).backward();          // a kernel
  ag::mean(ag::matmul(prediction() - labels, ag::ones({6, 2}))).backward();  // what is not compared
  EXPECT_THAT(texts(), IsEmpty());
}

// --- Dropout in what looks like evaluation

TEST_F(Warnings, OfDropoutUnderNoGrad) {
  const ag::nn::Sequential net{ag::nn::Dense(4, 4), ag::nn::Dropout(0.25)};
  ag::nn::parameters(net);
  const ag::NoGrad no_grad;
  for (int batch = 0; batch < 3; ++batch) {
    const int line = __LINE__ + 1;
    net(ag::ones({6, 4}));
    EXPECT_THAT(texts(), ElementsAre("[Dropout] drops 0.25 of x (6, 4) under NoGrad, which looks like evaluation; "
                                     "Inference keeps all of it" +
                                     at(line) + ", in layer 1"));
  }
}

TEST_F(Warnings, NotOfDropoutThatTrainsOrEvaluates) {
  const ag::nn::Sequential net{ag::nn::Dense(4, 4), ag::nn::Dropout(0.5)};
  ag::mean(net(ag::ones({6, 4}))).backward();
  ag::mean(ag::nn::recompute(net, ag::ones({6, 4}))).backward();
  {
    const ag::Inference inference;
    net(ag::ones({6, 4}));
  }
  {
    const ag::NoGrad no_grad;
    const ag::Evaluation evaluation;
    net(ag::ones({6, 4}));
  }
  {
    const ag::NoGrad no_grad;
    ag::nn::Dropout(0)(ag::ones({6, 4}));
    ag::dropout(ag::ones({6, 4}), 0.5);  // the operation drops always
  }
  const Tensor x = ag::parameter(ag::ones({6, 4}));
  const auto backward = [](const auto& call) { return ag::nn::Dropout(0.5)(call.dy()); };
  ag::sum(ag::with_gradient("mine", x.detach() * 2, {x}, backward)).backward();
  EXPECT_THAT(texts(), IsEmpty());
}

// --- An optimiser that no gradient reaches

TEST_F(Warnings, OfAnOptimiserWhoseParametersTheLossDoesNotReach) {
  ag::nn::Dense net(4, 1);
  ag::optim::SGD sgd(ag::nn::parameters(net));
  net = ag::nn::clone(net);
  for (int step = 0; step < 3; ++step) {
    sgd.zero_grad();
    ag::mean(net(ag::ones({6, 4}))).backward();
    const int line = __LINE__ + 1;
    sgd.step();
    EXPECT_THAT(texts(), ElementsAre(AllOf(HasSubstr("[SGD] none of its 2 parameters, the first one (4, 1), has had a "
                                                     "gradient, though backward() has run"),
                                           HasSubstr("missing(loss) lists"), EndsWith(at(line)))));
  }
}

TEST_F(Warnings, NotOfAnOptimiserThatSomeGradientReaches) {
  const ag::nn::Dense used(4, 1), frozen(4, 1);
  std::vector<Tensor> parameters = ag::nn::parameters(used);
  for (const Tensor& parameter : ag::nn::parameters(frozen)) parameters.push_back(parameter);
  ag::optim::SGD sgd(parameters), other(ag::nn::parameters(ag::nn::Dense(4, 1)));
  other.step();  // before any backward() of its time
  ag::mean(used(ag::ones({6, 4}))).backward();
  sgd.step();
  sgd.zero_grad();
  ag::mean(frozen(ag::ones({6, 4}))).backward();
  sgd.step();
  sgd.zero_grad();
  sgd.step();

  const ag::nn::Embedding table(5, 3, {.row_gradients = true});
  ag::optim::SGD of_rows(ag::nn::parameters(table));
  ag::sum(table(Tensor::from({1, 2}, {2}))).backward();
  of_rows.step();

  const ag::nn::Dense dropped(4, 1);
  ag::optim::SGD later(ag::nn::parameters(dropped));
  ag::mean(dropped(ag::ones({6, 4}))).backward();
  later.zero_grad();
  later.step();
  EXPECT_THAT(texts(), IsEmpty());
}

// --- How they are given

void warn_once_more() {
  const ag::NoGrad no_grad;
  ag::nn::Dropout(0.5)(ag::ones({2}));
}

TEST_F(Warnings, AreSwitchedOffInALine) {
  ag::set_warnings(false);
  EXPECT_FALSE(ag::warnings_are_on());
  warn_once_more();
  EXPECT_THAT(texts(), IsEmpty());
  ag::set_warnings(true);
  warn_once_more();
  EXPECT_THAT(given_, testing::SizeIs(1));
}

TEST_F(Warnings, HaveTheirParts) {
  const ag::NoGrad no_grad;
  const int line = __LINE__ + 1;
  ag::nn::Sequential{ag::nn::Dropout(0.5)}(ag::ones({2}));
  ASSERT_THAT(given_, testing::SizeIs(1));
  EXPECT_EQ(given_[0].operation, "Dropout");
  EXPECT_THAT(given_[0].message, HasSubstr("x (2)"));
  EXPECT_THAT(given_[0].file, EndsWith("/warnings_test.cpp"));
  EXPECT_EQ(given_[0].line, line);
  EXPECT_EQ(given_[0].layer, "0");
}

TEST_F(Warnings, ThatThrowLeaveTheCallAndQueueNothing) {
  int thrown = 0;
  ag::set_warning_handler([](const ag::Warning& warning) { throw std::runtime_error(warning.str()); });
  const Tensor x = ag::ones({2});
  ag::wait_all();
  const auto before = ag::memory_figures().live_bytes;
  for (int i = 0; i < 2; ++i) {  // the line gets it again
    const ag::NoGrad no_grad;
    try {
      ag::nn::Dropout(0.5)(x);
    } catch (const std::runtime_error& error) {
      ++thrown;
      EXPECT_THAT(error.what(), HasSubstr("[Dropout]"));
    }
  }
  EXPECT_EQ(thrown, 2);
  EXPECT_EQ(ag::memory_figures().live_bytes, before);
}

TEST_F(Warnings, OfManyThreadsComeOnce) {
  std::vector<std::thread> threads;
  ag::set_warning_handler(nullptr);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      ag::Generator generator(1);
      const ag::NoGrad no_grad;
      ag::nn::Dropout(0.5, &generator)(ag::ones({2}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, AllOf(testing::StartsWith("warning: [Dropout] drops 0.5 of x (2)"),
                             EndsWith(" (ag::set_warnings(false) switches warnings off)\n")));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
}

}  // namespace
