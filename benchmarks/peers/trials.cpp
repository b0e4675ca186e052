#include "trials.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::benchmarks {
namespace {

constexpr std::int64_t elements = std::int64_t{1} << 21;

template <class Function>
std::function<Run()> with_gradient(const Shape& shape, Function function) {
  return [=]() -> Run {
    return [=, x = parameter(randn(shape))](int units) mutable {
      for (int i = 0; i < units; ++i) {
        x.zero_grad();
        sum(function(x)).backward();
      }
    };
  };
}

template <class Function>
std::function<Run()> in_rows(std::int64_t columns, Function function) {
  return with_gradient({elements / columns, columns}, std::move(function));
}

std::function<Run()> broadcast(std::int64_t columns) {
  return [=]() -> Run {
    const std::int64_t rows = elements / columns;
    return [x = randn({rows, columns}), column = randn({rows, 1})](int units) {
      const Inference inference;
      for (int i = 0; i < units; ++i) x* column;
    };
  };
}

Tensor sum_of_slices(const Tensor& x) {
  Tensor total = zeros({});
  for (std::int64_t i = 0; i < x.size(0); ++i) total = total + sum(square(x.slice(i, i + 1)));
  return total;
}

// A layer called with one input, which requires a gradient as the layer's parameters do.
template <class Layer, class... Sizes>
std::function<Run()> layer(const Shape& shape, Sizes... sizes) {
  return [=]() -> Run {
    return [net = Layer(sizes...), x = parameter(randn(shape))](int units) mutable {
      for (int i = 0; i < units; ++i) {
        x.zero_grad();
        for (Tensor leaf : nn::parameters(net)) leaf.zero_grad();
        sum(net(x)).backward();
      }
    };
  };
}

std::function<Run()> attention(const Shape& shape, bool causal) {
  return with_gradient(shape,
                       [=](const Tensor& q) { return scaled_dot_product_attention(q, q, q, {.causal = causal}); });
}

// LeNet's step on a batch of 64 images of 28 x 28 pixels.
Run lenet_step() {
  nn::Sequential net{nn::Conv2d(1, 6, 5, relu, {.padding = 2}),
                     nn::MaxPool2d(2),
                     nn::Conv2d(6, 16, 5, relu),
                     nn::MaxPool2d(2),
                     nn::Flatten(),
                     nn::Dense(400, 120, relu),
                     nn::Dense(120, 84, relu),
                     nn::Dense(84, 10)};
  optim::SGD sgd(nn::parameters(net), {.lr = 0.01});
  const Tensor labels = Tensor::from(std::vector<std::int64_t>(64, 3), {64});
  return [=, x = randn({64, 1, 28, 28})](int units) mutable {
    for (int i = 0; i < units; ++i) {
      const Tensor loss = mean(nn::softmax_cross_entropy(net(x), labels));
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
  };
}

}  // namespace

Workloads trials() {
  Workloads workloads;
  for (const std::int64_t n : {4, 32, 63, 64}) workloads["trial_broadcast_" + std::to_string(n)] = broadcast(n);
  for (const int n : {2, 3}) {
    workloads["trial_pow_" + std::to_string(n)] =
        with_gradient({1024, 512}, [=](const Tensor& x) { return pow(x, n); });
  }
  for (const std::int64_t n : {256, 1024}) {
    workloads["trial_slices_" + std::to_string(n)] = with_gradient({n, 64, 64}, sum_of_slices);
  }
  for (const std::int64_t n : {8, 32, 64, 1024}) {
    workloads["trial_softmax_" + std::to_string(n)] = in_rows(n, [](const Tensor& x) { return softmax(x, 1); });
  }
  for (const std::int64_t n : {4, 32, 1024}) {
    workloads["trial_sum_" + std::to_string(n)] = in_rows(n, [](const Tensor& x) { return sum(x, 1); });
  }
  workloads["trial_conv_28"] = layer<nn::Conv2d>({32, 32, 28, 28}, 32, 64, 3);
  workloads["trial_max_pool_28"] = with_gradient({64, 64, 28, 28}, [](const Tensor& x) { return max_pool2d(x, 2); });
  workloads["trial_avg_pool_28"] = with_gradient({64, 64, 28, 28}, [](const Tensor& x) { return avg_pool2d(x, 2); });
  for (const int n : {4, 7, 16}) {
    workloads["trial_batch_norm_" + std::to_string(n)] = layer<nn::BatchNorm>({64, 64, n, n}, 64);
  }
  for (const std::int64_t n : {32, 64, 256, 512, 1024}) {
    workloads["trial_layer_norm_" + std::to_string(n)] = layer<nn::LayerNorm>({(1 << 19) / n, n}, n);
  }
  workloads["trial_attention_512"] = attention({4, 8, 512, 64}, true);
  workloads["trial_attention_128"] = attention({8, 4, 128, 32}, false);
  workloads["trial_lstm_128"] = layer<nn::LSTM>({64, 32, 128}, 128, 128);
  workloads["trial_gru_128"] = layer<nn::GRU>({64, 32, 128}, 128, 128);
  workloads["trial_transformer_128"] = layer<nn::TransformerBlock>({8, 128, 128}, 128, 4);
  workloads["trial_lenet_28"] = lenet_step;
  return workloads;
}

}  // namespace asyncgrad::benchmarks
