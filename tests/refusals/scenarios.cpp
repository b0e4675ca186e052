#include "tests/refusals/scenarios.h"

#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/refusals/system.h"
#include "tests/support/network.h"

namespace asyncgrad::refusals {
namespace {

enum class Waits : bool { at_end, every_step };

double train(int cpu_parts, Waits waits) {
  constexpr int steps = 3, hidden = 200, batch = 32;
  Generator generator(3);
  nn::Sequential net{nn::Dense(16, hidden, relu, {.generator = &generator}),
                     nn::Dense(hidden, 1, {}, {.generator = &generator})};
  optim::Adam adam(nn::parameters(net), {.lr = 0.01});
  Tensor loss;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({batch, 16}, {.generator = &generator}), y = ones({batch, 1});
    const Tensor out = cpu_parts > 1 ? nn::replica(net, "cpu:1")(x.to("cpu:1")).to("cpu:0") : net(x);
    loss = mean(nn::l2_loss(out, y));
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (waits == Waits::every_step) loss.wait();
  }
  return loss.item();
}

// Numbers, read one by one.
struct Numbers {
  std::int64_t size() const { return 8; }
  std::vector<float> operator[](std::int64_t i) const { return std::vector<float>(64, static_cast<float>(i) / 8); }
};

double train_network() {
  Generator generator(3);
  tests::Network net(generator);
  const std::vector<Tensor> parameters = nn::parameters(net);
  optim::Adam adam(parameters, {.lr = 0.01});
  data::Batches batches(Numbers(), {.batch_size = 4});
  Tensor loss;
  while (const auto batch = batches.next()) {
    loss = mean(square(net(batch->front().reshape({4, 1, 8, 8}))));
    adam.zero_grad();
    loss.backward();
    optim::clip_norm(parameters, 1);
    adam.step();
  }
  return loss.item();
}

// Values that are dropped, and computed again for the gradients.
double train_again() {
  constexpr int layers = 5, steps = 2;
  Generator generator(3);
  std::vector<Tensor> weights;
  for (int i = 0; i < layers; ++i) weights.push_back(parameter(randn({64, 64}, {.generator = &generator}) * 0.2));
  double last = 0;
  for (int step = 0; step < steps; ++step) {
    Tensor h = randn({512, 64}, {.generator = &generator});
    for (const Tensor& weight : weights) h = tanh(matmul(h, weight));
    const Tensor loss = mean(square(h));
    h = Tensor();
    loss.backward();
    const NoGrad no_grad;
    for (Tensor& weight : weights) {
      weight -= weight.grad() * 0.1;
      weight.zero_grad();
    }
    last = loss.item();
  }
  return last;
}

// A failing operation, and updates that are skipped because of it.
void fail() {
  Tensor y = full({5}, 7);
  for (int i = 0; i < 3; ++i) y += take(ones({3}), full({5}, 3, {.dtype = int64}));  // index 3 of 3 rows
  y.wait();
}

// More dependencies than a record has room for.
void share_widely() {
  const Tensor big = randn({600, 600});
  const Tensor slow = matmul(big, big);
  for (int round = 0; round < 4; ++round) {
    std::vector<Tensor> readers;
    for (int i = 0; i < 150; ++i) readers.push_back(slow + i);
    static_cast<void>(reduce_add(readers, "cpu") + 1);
  }
}

void multiply() {
  const Tensor x = ones({300, 300});
  matmul(x, x).wait();
}
// All values are whole numbers, which no kernel rounds.
double product() {
  const Tensor x = ones({300, 300});
  return sum(matmul(matmul(x, x), x)).item();
}

void make_ones() { ones({1}).wait(); }
void use_two_workers() { set_engine_options({.workers = 2}); }
void queue_everything() { set_engine_options({.workers = 2, .inline_tiny = false}); }
void keep_small_budget() {
  set_engine_options({.workers = 2, .memory_budget = MemoryBudget::bytes(512 << 10), .recompute_to_fit = true});
}
void use_two_parts() { set_engine_options({.workers = 2, .cpu_parts = 2}); }

void set_other_options() {
  set_engine_options({.workers = 3, .queue_capacity = 20'000, .inline_tiny = false, .cpu_parts = 3});
  set_engine_options({.workers = 2, .inline_tiny = false, .cpu_parts = 2});
}

void train_network_once() { static_cast<void>(train_network()); }
void train_again_once() { static_cast<void>(train_again()); }
void train_once() { static_cast<void>(train(1, Waits::at_end)); }
void train_and_wait() { static_cast<void>(train(1, Waits::every_step)); }
void train_on_two_parts() { static_cast<void>(train(2, Waits::at_end)); }
void train_and_multiply() {
  train_once();
  multiply();
}
double trained() { return train(1, Waits::at_end); }
// Options may be set again where memory was refused.
double trained_with_options() {
  queue_everything();
  return trained();
}
double trained_on_two_parts() { return train(2, Waits::at_end); }

constexpr Scenario all[] = {
    {"warm", objects, false, use_two_workers, train_once, train_once, trained},
    {"waits", objects, false, use_two_workers, train_once, train_and_wait, trained},
    {"queued", objects, false, queue_everything, train_once, train_once, trained},
    {"options", objects, false, queue_everything, train_once, set_other_options, trained_with_options},
    {"error", objects, false, queue_everything, train_once, fail, trained},
    {"error_at_call", objects, false, use_two_workers, train_once, fail, trained},
    {"edges", objects, false, use_two_workers, train_and_multiply, share_widely, trained},
    {"parts", objects, false, use_two_parts, train_on_two_parts, train_on_two_parts, trained_on_two_parts},
    {"blocks", memory, false, queue_everything, train_and_multiply, share_widely, trained},
    {"product", memory, false, use_two_workers, make_ones, multiply, product},
    // oneDNN ends the process if operator new fails twice while it makes its kernels. The library tests for the memory
    // before.
    {"product_objects", objects, true, use_two_workers, make_ones, multiply, product},
    {"product_limits", address_space, true, use_two_workers, make_ones, multiply, product},
    {"product_data", data_space, true, use_two_workers, make_ones, multiply, product},
    {"limits", address_space, true, queue_everything, train_and_multiply, share_widely, trained},
    {"network", objects, false, queue_everything, train_network_once, train_network_once, train_network},
    {"network_blocks", memory, false, queue_everything, train_network_once, train_network_once, train_network},
    {"again", objects, false, keep_small_budget, train_again_once, train_again_once, train_again},
    {"again_blocks", memory, false, keep_small_budget, make_ones, train_again_once, train_again},
    {"cold_network", objects, false, use_two_workers, nullptr, train_network_once, train_network},
    {"cold", objects, false, use_two_workers, nullptr, train_once, trained},
    {"cold_blocks", memory, false, use_two_workers, nullptr, train_once, trained},
    {"cold_limits", address_space, true, use_two_workers, nullptr, train_once, trained},
    {"threads", threads, false, queue_everything, nullptr, train_once, trained},
    {"threads_of_parts", threads, false, use_two_parts, nullptr, train_on_two_parts, trained_on_two_parts},
};

}  // namespace

std::span<const Scenario> scenarios() { return all; }

}  // namespace asyncgrad::refusals
