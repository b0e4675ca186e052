// Optimisers, factors of learning rates, and gradients that are cut.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "python/tests/cases/case.h"

namespace cases {

namespace {

// Three steps from 0.5, 1, 2 with the gradient 2 p.
template <class Optimizer, class Options>
void optimizer(const std::string& python, const Options& options) {
  value("optimizer(lambda p: " + python + ")", [&] {
    const ag::Tensor p = ag::parameter(ag::Tensor::from(std::vector<float>{0.5F, 1.0F, 2.0F}, {3}));
    Optimizer optimizer({p}, options);
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      ag::sum(p * p).backward();
      optimizer.step();
    }
    return hex(p.detach());
  });
}

void factor(const std::string& python, const std::function<optim::Factor()>& make) {
  value("factor(lambda: " + python + ")", [&] {
    const optim::Factor factor = make();
    std::string text;
    for (int t = 0; t < 10; ++t) text += hex(factor(t));
    return text;
  });
}

// The gradient of sum(p * p) where p is 0.5, 1, 2, and its length before.
void clipped(const std::string& python, double max_norm) {
  value("clipped(lambda p: " + python + ")", [&] {
    const ag::Tensor p = ag::parameter(ag::Tensor::from(std::vector<float>{0.5F, 1.0F, 2.0F}, {3}));
    ag::sum(p * p).backward();
    const double length = optim::clip_norm({p}, max_norm).item<double>();
    return hex(p.grad()) + hex(length);
  });
}

void values() {
  optimizer<optim::SGD>("optim.SGD(p)", optim::SGDOptions{});
  optimizer<optim::SGD>("optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)",
                        optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  optimizer<optim::Adam>("optim.Adam(p)", optim::AdamOptions{});
  optimizer<optim::Adam>("optim.Adam(p, beta1=0.5, beta2=0.75, epsilon=0.1)",
                         optim::AdamOptions{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.1});
  optimizer<optim::AdamW>("optim.AdamW(parameters=p)", optim::AdamWOptions{});
  optimizer<optim::Adagrad>("optim.Adagrad(p, initial_accumulator=0.5)",
                            optim::AdagradOptions{.initial_accumulator = 0.5});
  optimizer<optim::RMSprop>("optim.RMSprop(p, alpha=0.5, momentum=0.5, centered=True)",
                            optim::RMSpropOptions{.alpha = 0.5, .momentum = 0.5, .centered = true});
  optimizer<optim::Lion>("optim.Lion(p)", optim::LionOptions{});
  optimizer<optim::Lion>("optim.Lion(p, lr=0.1, beta1=0.5, beta2=0.25, weight_decay=0.1)",
                         optim::LionOptions{.lr = 0.1, .beta1 = 0.5, .beta2 = 0.25, .weight_decay = 0.1});
  optimizer<optim::Adadelta>("optim.Adadelta(p)", optim::AdadeltaOptions{});
  optimizer<optim::Adadelta>("optim.Adadelta(p, lr=0.5, rho=0.5, epsilon=0.1, weight_decay=0.1)",
                             optim::AdadeltaOptions{.lr = 0.5, .rho = 0.5, .epsilon = 0.1, .weight_decay = 0.1});
  optimizer<optim::Adadelta>("optim.Adadelta(p, rho=1)", optim::AdadeltaOptions{.rho = 1});
  optimizer<optim::SGD>("optim.SGD(p, lr=-1)", optim::SGDOptions{.lr = -1});
  optimizer<optim::SGD>("optim.SGD(p, nesterov=True)", optim::SGDOptions{.nesterov = true});
  optimizer<optim::Adam>("optim.Adam(p, beta1=1)", optim::AdamOptions{.beta1 = 1});
  factor("optim.steps(every=3, factor=0.5)", [] { return optim::steps(3, 0.5); });
  factor("optim.cosine(5)", [] { return optim::cosine(5); });
  factor("optim.one_cycle(8)", [] { return optim::one_cycle(8); });
  factor("optim.one_cycle(length=6, rise=0.5, first_factor=0.1, last_factor=0)",
         [] { return optim::one_cycle(6, {.rise = 0.5, .first_factor = 0.1, .last_factor = 0}); });
  factor("optim.one_cycle(1)", [] { return optim::one_cycle(1); });
  factor("optim.one_cycle(4, rise=1)", [] { return optim::one_cycle(4, {.rise = 1}); });
  factor("optim.warm_up(3)", [] { return optim::warm_up(3); });
  factor("optim.warm_up(3, then=optim.cosine(length=4, min_factor=0.1))",
         [] { return optim::warm_up(3, optim::cosine(4, 0.1)); });
  factor("optim.warm_up(2, lambda t: t / 4)",
         [] { return optim::warm_up(2, [](std::int64_t t) { return static_cast<double>(t) / 4; }); });
  factor("optim.steps(0, 0.5)", [] { return optim::steps(0, 0.5); });
  factor("optim.cosine(1, -1)", [] { return optim::cosine(1, -1); });
  factor("optim.warm_up(0)", [] { return optim::warm_up(0); });
  clipped("optim.clip_norm(parameters=[p], max_norm=2)", 2);
  clipped("optim.clip_norm([p], 100)", 100);
  clipped("optim.clip_norm([p], -1)", -1);
  value("rates_of_groups()", [] {
    optim::SGD sgd({ag::parameter(ag::ones({1}))}, {.lr = 0.1});
    sgd.add_group({ag::parameter(ag::ones({1}))}, {.lr = 0.01});
    optim::Schedule schedule(sgd, optim::warm_up(2, optim::steps(2, 0.5)));
    std::string text;
    for (int t = 0; t < 6; ++t, schedule.step()) text += hex(sgd.lr(0)) + hex(sgd.lr(1));
    return text;
  });
}

void all_defaults() {
  const optim::SGDOptions sgd;
  defaults(
      "optim.SGD",
      {{"lr", sgd.lr}, {"momentum", sgd.momentum}, {"weight_decay", sgd.weight_decay}, {"nesterov", sgd.nesterov}});
  const auto of_adam = [](const std::string& python, const auto& o) {
    defaults(python, {{"lr", o.lr},
                      {"beta1", o.beta1},
                      {"beta2", o.beta2},
                      {"epsilon", o.epsilon},
                      {"weight_decay", o.weight_decay}});
  };
  of_adam("optim.Adam", optim::AdamOptions{});
  of_adam("optim.AdamW", optim::AdamWOptions{});
  const optim::AdagradOptions adagrad;
  defaults("optim.Adagrad", {{"lr", adagrad.lr},
                             {"epsilon", adagrad.epsilon},
                             {"weight_decay", adagrad.weight_decay},
                             {"initial_accumulator", adagrad.initial_accumulator}});
  const optim::RMSpropOptions rmsprop;
  defaults("optim.RMSprop", {{"lr", rmsprop.lr},
                             {"alpha", rmsprop.alpha},
                             {"epsilon", rmsprop.epsilon},
                             {"weight_decay", rmsprop.weight_decay},
                             {"momentum", rmsprop.momentum},
                             {"centered", rmsprop.centered}});
  const optim::AdadeltaOptions adadelta;
  defaults("optim.Adadelta", {{"lr", adadelta.lr},
                              {"rho", adadelta.rho},
                              {"epsilon", adadelta.epsilon},
                              {"weight_decay", adadelta.weight_decay}});
  const optim::LionOptions lion;
  defaults("optim.Lion",
           {{"lr", lion.lr}, {"beta1", lion.beta1}, {"beta2", lion.beta2}, {"weight_decay", lion.weight_decay}});
  defaults("optim.cosine", {{"min_factor", optim::cosine(1)(1)}});  // which it is from its length on
  defaults("optim.warm_up", {});
  const optim::OneCycleOptions cycle;
  defaults("optim.one_cycle",
           {{"rise", cycle.rise}, {"first_factor", cycle.first_factor}, {"last_factor", cycle.last_factor}});
}

}  // namespace

void optimisers() {
  values();
  all_defaults();
}

}  // namespace cases
