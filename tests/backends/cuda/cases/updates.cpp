// Calls of optimisers' steps.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

std::vector<Tensor> three_parameters(Inputs& in) {
  return {in.parameter({300, 250}), in.parameter({7}), in.parameter({})};
}
Results trained(optim::Optimizer& optimizer) {
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    for (const Tensor& p : optimizer.parameters()) sum(square(p)).backward();
    optimizer.step();
  }
  return optimizer.parameters();
}
Results sgd(Inputs& in, const optim::SGDOptions& options) {
  optim::SGD sgd(three_parameters(in), options);
  return trained(sgd);
}
Results adam(Inputs& in) {
  optim::Adam adam(three_parameters(in), {.lr = 0.1, .weight_decay = 0.1});
  return trained(adam);
}
Results adagrad(Inputs& in) {
  optim::Adagrad adagrad(three_parameters(in), {.weight_decay = 0.1});
  return trained(adagrad);
}
Results rmsprop(Inputs& in, double momentum, bool centered) {
  optim::RMSprop rmsprop(three_parameters(in), {.weight_decay = 0.1, .momentum = momentum, .centered = centered});
  return trained(rmsprop);
}

// Of some rows, of many, of none, and of rows that are looked up twice.
Results trained_by_rows(Inputs& in, bool with_adam) {
  Generator generator(3);
  nn::Embedding table(40, 7,
                      {.row_gradients = true, .dtype = in.dtype(), .device = in.device(), .generator = &generator});
  optim::SGD sgd({table.weight}, {.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1});
  optim::Adam adam({table.weight}, {.lr = 0.01, .weight_decay = 0.1});
  optim::Optimizer& optimizer = with_adam ? static_cast<optim::Optimizer&>(adam) : sgd;
  for (const std::int64_t count : {30, 1100, 0}) {
    optimizer.zero_grad();
    for (int use = 0; use < 2; ++use) sum(square(table(in.integers({count}, 40)))).backward();
    optimizer.step();
  }
  return {table.weight};
}

}  // namespace

DeviceCases update_cases() {
  using detail::Op;
  return {
      {"sgd", {Op::update}, [](Inputs& in) { return sgd(in, {.lr = 0.1}); }},
      {"sgd_nesterov",
       {Op::update},
       [](Inputs& in) { return sgd(in, {.lr = 0.1, .momentum = 0.9, .nesterov = true}); }},
      {"adam", {Op::update}, adam},
      {"adagrad", {Op::update}, adagrad},
      {"rmsprop", {Op::update}, [](Inputs& in) { return rmsprop(in, 0, false); }},
      {"rows_by_sgd", {Op::update_rows, Op::first_places}, [](Inputs& in) { return trained_by_rows(in, false); }, 1e-4},
      {"rows_by_adam", {Op::update_rows, Op::first_places}, [](Inputs& in) { return trained_by_rows(in, true); }, 1e-4},
      {"rmsprop_of_all", {Op::update}, [](Inputs& in) { return rmsprop(in, 0.9, true); }},
  };
}

}  // namespace asyncgrad::tests
