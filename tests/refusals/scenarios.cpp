#include "tests/refusals/scenarios.h"

#include <algorithm>
#include <span>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "tests/refusals/system.h"

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

Tensor twice(const Tensor& x) {
  const Tensor y = custom("twice", {.shape = x.shape()}, {x.detach()}, [](const CustomCall& call) {
    const std::span<const float> in = call.input<float>(0);
    const std::span<float> out = call.output<float>();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
  });
  return with_gradient("twice", y, {x}, [](const GradientCall& call) { return call.dy() * 2; });
}

// What networks are made of: images, then rows of 16, then sequences.
struct Network {
  explicit Network(Generator& generator)
      : conv(1, 4, 3, relu, {.padding = 1, .generator = &generator}),
        attention(16, 2, {.causal = true, .generator = &generator}),
        lstm(16, 16, {.both_directions = true, .dropout = 0.25, .generator = &generator}),
        out(32, 1, {}, {.generator = &generator}),
        dropout(0.25, &generator) {}

  Tensor operator()(const Tensor& images) const {
    const Tensor planes = max_pool2d(norm(conv(images)), 2);
    const Tensor rows = row_norm(dropout(twice(planes)).reshape({-1, 4, 16}));
    const Tensor seen = nn::recompute([this](const Arg& x) { return cumsum(attention(x), 1); }, rows);
    const Tensor parts =
        concat({slice(seen, 2, 0, 8), masked_fill(slice(seen, 2, 8, 16), slice(rows, 2, 0, 8) > 0, 0)}, 2);
    return out(lstm(parts).reshape({-1, 32}));
  }
  void members(nn::Members& m) {
    m("conv", conv);
    m("norm", norm);
    m("row_norm", row_norm);
    m("attention", attention);
    m("lstm", lstm);
    m("out", out);
  }

  nn::Conv2d conv;
  nn::BatchNorm norm{4};
  nn::LayerNorm row_norm{16};
  nn::MultiHeadAttention attention;
  nn::LSTM lstm;
  nn::Dense out;
  nn::Dropout dropout;
};

double train_network() {
  Generator generator(3);
  Network net(generator);
  const std::vector<Tensor> parameters = nn::parameters(net);
  optim::Adam adam(parameters, {.lr = 0.01});
  data::Batches batches(Numbers(), {.batch_size = 4});
  Tensor loss;
  while (const auto batch = batches.next()) {
    const Tensor noise = source("noise", {.shape = {8, 8}},
                                [](const CustomCall& call) { std::ranges::fill(call.output<float>(), 0.25F); });
    loss = mean(square(net(batch->front().reshape({4, 1, 8, 8}) + noise)));
    adam.zero_grad();
    loss.backward();
    optim::clip_norm(parameters, 1);
    adam.step();
  }
  return loss.item();
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
// Whole numbers: no kernel rounds them.
double product() {
  const Tensor x = ones({300, 300});
  return sum(matmul(matmul(x, x), x)).item();
}

void make_ones() { ones({1}).wait(); }
void use_two_workers() { set_engine_options({.workers = 2}); }
void queue_everything() { set_engine_options({.workers = 2, .inline_tiny = false}); }
void use_two_parts() { set_engine_options({.workers = 2, .cpu_parts = 2}); }

void train_network_once() { static_cast<void>(train_network()); }
void train_once() { static_cast<void>(train(1, Waits::at_end)); }
void train_and_wait() { static_cast<void>(train(1, Waits::every_step)); }
void train_on_two_parts() { static_cast<void>(train(2, Waits::at_end)); }
void train_and_multiply() {
  train_once();
  multiply();
}
double trained() { return train(1, Waits::at_end); }
double trained_on_two_parts() { return train(2, Waits::at_end); }

constexpr Scenario all[] = {
    {"warm", objects, false, use_two_workers, train_once, train_once, trained},
    {"waits", objects, false, use_two_workers, train_once, train_and_wait, trained},
    {"queued", objects, false, queue_everything, train_once, train_once, trained},
    {"error", objects, false, queue_everything, train_once, fail, trained},
    {"error_at_call", objects, false, use_two_workers, train_once, fail, trained},
    {"edges", objects, false, use_two_workers, train_and_multiply, share_widely, trained},
    {"parts", objects, false, use_two_parts, train_on_two_parts, train_on_two_parts, trained_on_two_parts},
    {"blocks", memory, false, queue_everything, train_and_multiply, share_widely, trained},
    {"product", memory, false, use_two_workers, make_ones, multiply, product},
    // oneDNN ends the process where operator new fails twice while it makes its kernels. The library makes sure of the
    // memory before.
    {"product_objects", objects, true, use_two_workers, make_ones, multiply, product},
    {"product_limits", address_space, true, use_two_workers, make_ones, multiply, product},
    {"product_data", data_space, true, use_two_workers, make_ones, multiply, product},
    {"limits", address_space, true, queue_everything, train_and_multiply, share_widely, trained},
    {"network", objects, false, queue_everything, train_network_once, train_network_once, train_network},
    {"network_blocks", memory, false, queue_everything, train_network_once, train_network_once, train_network},
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
