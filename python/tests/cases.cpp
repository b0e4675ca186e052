// Cases that test_cases.py runs in Python, too: names, defaults, values and errors must be the same, bit for bit.
//
// Prints for each a line with "case" and what Python evaluates, and then what came out here.
#include <concepts>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/asyncgrad.h"

namespace ag = asyncgrad;
namespace nn = ag::nn;
namespace optim = ag::optim;

namespace {

void print(const std::string& python, const std::string& result) {
  std::cout << "case " << python << '\n' << result << '\n';
}

std::string hex(const void* data, std::size_t size_bytes) {
  std::ostringstream text;
  for (std::size_t i = 0; i < size_bytes; ++i) {
    text << std::hex << std::setw(2) << std::setfill('0') << int{static_cast<const unsigned char*>(data)[i]};
  }
  return text.str();
}
std::string hex(const ag::Tensor& x) {
  const auto values = x.to_vector<float>();
  return x.shape().str() + " " + hex(values.data(), values.size() * sizeof(float));
}
std::string hex(double x) { return hex(&x, sizeof(x)); }

// The result of the function, or the text of its error. Random numbers begin anew.
void value(const std::string& python, const std::function<std::string()>& result) {
  ag::manual_seed(7);
  try {
    print(python, result());
  } catch (const ag::Error& error) {
    print(python, std::string("error ") + error.what());
  }
}

ag::Tensor input(const ag::Shape& shape) {
  return ag::arange(0, shape.numel(), 1, {.dtype = ag::float32}).reshape(shape) / 10 - 1;
}

std::string hex(const nn::LSTMState& state) { return hex(state.h) + " " + hex(state.c); }

// A layer's tensors by their paths, and what it computes of its inputs, in training.
template <class Make, class... Inputs>
void layer_with(const std::string& python, const std::string& python_inputs, const Make& make,
                const Inputs&... inputs) {
  value("layer(" + python + ", " + python_inputs + ")", [&] {
    auto made = make();
    std::string text;
    for (const auto& [path, tensor] : nn::state(made)) text += path + " " + hex(tensor) + " ";
    return text + hex(made(inputs...));
  });
}
template <class Make>
void layer_of(const std::string& python, const std::string& python_x, const ag::Tensor& x, const Make& make) {
  layer_with(python, python_x, make, x);
}
template <class Make>
void layer(const std::string& python, const ag::Shape& shape, const Make& make) {
  layer_of(python, "input(" + shape.str() + ")", input(shape), make);
}

template <class Make>
void refused(const std::string& python, const Make& make) {
  value(python, [&] {
    static_cast<void>(make());
    return std::string("nothing was thrown");
  });
}

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

// A default in JSON. An activation and an initialiser have their name; empty: Python has None.
template <class T>
requires std::integral<T> std::string json(T number) {
  if constexpr (std::is_same_v<T, bool>) return number ? "true" : "false";
  return std::to_string(number);
}
std::string json(double number) {
  std::ostringstream text;
  text << std::setprecision(17) << number;
  const bool is_whole = text.str().find_first_of(".e") == std::string::npos;
  return text.str() + (is_whole ? ".0" : "");
}
std::string json(const ag::Size2d& size) {
  if (size.height == size.width) return json(size.height);
  return "[" + json(size.height) + ", " + json(size.width) + "]";
}
std::string json(ag::Activation function) {
  for (const nn::NamedActivation& row : nn::named_activations()) {
    if (row.function == function) return '"' + std::string(row.name) + '"';
  }
  return "";
}
std::string json(ag::Interpolation mode) { return mode == ag::Interpolation::nearest ? "\"nearest\"" : "\"bilinear\""; }
std::string json(nn::Reduction reduction) {
  switch (reduction) {
    case nn::Reduction::none:
      return "\"none\"";
    case nn::Reduction::mean:
      return "\"mean\"";
    case nn::Reduction::sum:
      return "\"sum\"";
    default:
      return "\"samples\"";
  }
}
std::string json(nn::RnnActivation activation) {
  return json(ag::Activation(activation == nn::RnnActivation::relu ? ag::relu : ag::tanh));
}
std::string json(const nn::Initialiser& initialiser) {
  using Function = ag::Tensor (*)(const ag::Shape&, ag::RandomOptions, ag::Location);
  const Function* const function = initialiser.target<Function>();
  if (function == nullptr) return "";
  if (*function == Function(nn::xavier_uniform)) return "\"xavier_uniform\"";
  if (*function == Function(nn::xavier_normal)) return "\"xavier_normal\"";
  if (*function == Function(nn::he_uniform)) return "\"he_uniform\"";
  return "\"he_normal\"";
}

struct Default {
  template <class T>
  Default(const char* name, const T& value) : name(name), text(json(value)) {}
  const char* name;
  std::string text;
};
void defaults(const std::string& python, const std::vector<Default>& values) {
  std::string text;
  for (const Default& row : values) {
    if (!row.text.empty()) text += (text.empty() ? "" : ", ") + ('"' + std::string(row.name) + "\": ") + row.text;
  }
  print("defaults(" + python + ")", "{" + text + "}");
}

void layers() {
  using nn::xavier_normal;
  layer("nn.Dense(4, 3)", {2, 4}, [] { return nn::Dense(4, 3); });
  layer("nn.Dense(in_features=4, out_features=3, activation='relu', initialiser=nn.init.he_uniform)", {2, 4},
        [] { return nn::Dense(4, 3, ag::relu, {.initialiser = nn::he_uniform}); });
  layer("nn.Dense(4, 3, ag.gelu_tanh, bias=False, initialiser='xavier_normal')", {2, 5, 4},
        [] { return nn::Dense(4, 3, ag::gelu_tanh, {.bias = false, .initialiser = xavier_normal}); });
  layer("nn.Dense(4, 3, initialiser=nn.init.normal(0.5))", {2, 4},
        [] { return nn::Dense(4, 3, {.initialiser = nn::normal(0.5)}); });
  layer("nn.Dense(4, 3, initialiser=nn.init.uniform())", {2, 4},
        [] { return nn::Dense(4, 3, {.initialiser = nn::uniform()}); });
  layer("nn.Dense(4, 3, initialiser=nn.init.constant(0.25))", {2, 4},
        [] { return nn::Dense(4, 3, {.initialiser = nn::constant(0.25)}); });
  for (const nn::NamedActivation& row : nn::named_activations()) {
    layer("nn.Dense(4, 3, activation='" + std::string(row.name) + "')", {2, 4},
          [&] { return nn::Dense(4, 3, row.function); });
  }
  layer(
      "nn.Conv2d(in_channels=2, out_channels=4, kernel_size=(3, 2), activation='silu', stride=2, padding=(1, 0), "
      "groups=2)",
      {2, 2, 5, 6}, [] {
        return nn::Conv2d(2, 4, {3, 2}, ag::silu, {.stride = 2, .padding = {1, 0}, .groups = 2});
      });
  layer("nn.Conv1d(2, 3, 3, dilation=2, bias=False)", {2, 2, 9},
        [] { return nn::Conv1d(2, 3, 3, nullptr, {.dilation = 2, .bias = false}); });
  layer(
      "nn.ConvTranspose2d(in_channels=2, out_channels=4, kernel_size=(3, 2), activation='silu', stride=2, "
      "padding=(1, 0), output_padding=1, groups=2)",
      {2, 2, 3, 4}, [] {
        return nn::ConvTranspose2d(2, 4, {3, 2}, ag::silu,
                                   {.stride = 2, .padding = {1, 0}, .output_padding = 1, .groups = 2});
      });
  layer("nn.ConvTranspose1d(2, 3, 3, dilation=2, bias=False)", {2, 2, 9},
        [] { return nn::ConvTranspose1d(2, 3, 3, nullptr, {.dilation = 2, .bias = false}); });
  layer("nn.MaxPool2d(kernel_size=3, stride=1, padding=1)", {2, 2, 5, 6},
        [] { return nn::MaxPool2d(3, {.stride = 1, .padding = 1}); });
  layer("nn.AvgPool2d((1, 3))", {2, 2, 5, 6}, [] { return nn::AvgPool2d({1, 3}); });
  layer("nn.GlobalAvgPool2d()", {2, 2, 5, 6}, [] { return nn::GlobalAvgPool2d(); });
  layer("nn.MaxPool1d(kernel_size=3, stride=1, padding=1)", {2, 2, 5},
        [] { return nn::MaxPool1d(3, {.stride = 1, .padding = 1}); });
  layer("nn.AvgPool1d(2)", {2, 2, 5}, [] { return nn::AvgPool1d(2); });
  layer("nn.Upsample(2)", {1, 2, 2, 3}, [] { return nn::Upsample(2); });
  layer("nn.Upsample(scale=3, mode='bilinear', align_corners=True)", {1, 2, 2, 3},
        [] { return nn::Upsample(3, {.mode = ag::Interpolation::bilinear, .align_corners = true}); });
  layer("nn.Identity()", {2, 3}, [] { return nn::Identity(); });
  layer("nn.InstanceNorm(channels=2, epsilon=0.5, affine=True)", {2, 2, 3},
        [] { return nn::InstanceNorm(2, {.epsilon = 0.5, .affine = true}); });
  layer("nn.Flatten()", {2, 2, 3}, [] { return nn::Flatten(); });
  layer("nn.BatchNorm(4, epsilon=0.5, momentum=0.25)", {3, 4},
        [] { return nn::BatchNorm(4, {.epsilon = 0.5, .momentum = 0.25}); });
  layer("nn.LayerNorm((3, 4), bias=False)", {2, 3, 4}, [] { return nn::LayerNorm({3, 4}, {.bias = false}); });
  layer("nn.GroupNorm(2, 6)", {2, 6, 3, 2}, [] { return nn::GroupNorm(2, 6); });
  layer("nn.GroupNorm(groups=3, channels=6, epsilon=0.5, affine=False)", {2, 6},
        [] { return nn::GroupNorm(3, 6, {.epsilon = 0.5, .affine = false}); });
  layer("nn.RMSNorm(4, 0.5)", {2, 4}, [] { return nn::RMSNorm({4}, {.epsilon = 0.5}); });
  layer("nn.Dropout()", {5, 4}, [] { return nn::Dropout(); });
  layer("nn.Dropout(p=0.25, generator=ag.Generator(3))", {5, 4}, [] {
    static ag::Generator generator(3);
    return nn::Dropout(0.25, &generator);
  });
  layer("nn.RNN(4, 3, layers=2, dropout=0.5, activation='relu')", {3, 2, 4},
        [] { return nn::RNN(4, 3, {.layers = 2, .dropout = 0.5}, nn::RnnActivation::relu); });
  layer("nn.GRU(in_features=4, hidden_features=3, both_directions=True)", {3, 2, 4},
        [] { return nn::GRU(4, 3, {.both_directions = true}); });
  layer("nn.LSTM(4, 3, bias=False)", {3, 2, 4}, [] { return nn::LSTM(4, 3, {.bias = false}); });
  layer("nn.MultiHeadAttention(4, 2, causal=True)", {2, 3, 4},
        [] { return nn::MultiHeadAttention(4, 2, {.causal = true}); });
  layer("nn.TransformerBlock(4, 2, hidden_features=5, activation='relu', norm_first=False)", {2, 3, 4},
        [] { return nn::TransformerBlock(4, 2, {.hidden_features = 5, .norm_first = false, .activation = ag::relu}); });
  layer("nn.PositionalEncoding(max_length=5, features=4)", {2, 3, 4}, [] { return nn::PositionalEncoding(5, 4); });
  layer("nn.RNNCell(4, 3)", {2, 4}, [] { return nn::RNNCell(4, 3); });
  layer_with(
      "nn.RNNCell(in_features=4, hidden_features=3, bias=False, activation='relu')", "input((2, 4)), input((2, 3))",
      [] { return nn::RNNCell(4, 3, {.bias = false}, nn::RnnActivation::relu); }, input({2, 4}), input({2, 3}));
  layer_with(
      "nn.GRUCell(4, 3)", "input((2, 4)), input((2, 3))", [] { return nn::GRUCell(4, 3); }, input({2, 4}),
      input({2, 3}));
  layer_with(
      "nn.LSTMCell(4, 3)", "input((2, 4))", [] { return nn::LSTMCell(4, 3); }, input({2, 4}));
  layer_with(
      "nn.LSTMCell(4, 3)", "input((2, 4)), input((2, 3)), input((2, 3)) * 2", [] { return nn::LSTMCell(4, 3); },
      input({2, 4}), nn::LSTMState{.h = input({2, 3}), .c = input({2, 3}) * 2});
  layer_with(
      "nn.TransformerDecoderBlock(4, 2)", "input((2, 3, 4)), input((2, 5, 4))",
      [] { return nn::TransformerDecoderBlock(4, 2); }, input({2, 3, 4}), input({2, 5, 4}));
  layer_with(
      "nn.TransformerDecoderBlock(4, 2, hidden_features=5, causal=False, activation='relu', norm_first=False)",
      "input((2, 3, 4)), input((2, 5, 4)), input((3, 3)), input((3, 5)) > 0",
      [] {
        return nn::TransformerDecoderBlock(
            4, 2, {.causal = false, .hidden_features = 5, .norm_first = false, .activation = ag::relu});
      },
      input({2, 3, 4}), input({2, 5, 4}), nn::DecoderMasks{.mask = input({3, 3}), .memory_mask = input({3, 5}) > 0});
  const ag::Tensor indices = ag::Tensor::from(std::vector<std::int64_t>{2, 0, 4, 2}, {2, 2});
  layer_of("nn.Embedding(5, 3)", "ag.array([[2, 0], [4, 2]])", indices, [] { return nn::Embedding(5, 3); });
  layer_of("nn.Embedding(count=5, features=3, standard_deviation=0.5)", "ag.array([[2, 0], [4, 2]])", indices,
           [] { return nn::Embedding(5, 3, {.standard_deviation = 0.5}); });
  layer_of("nn.Embedding(5, 3, row_gradients=True)", "ag.array([[2, 0], [4, 2]])", indices,
           [] { return nn::Embedding(5, 3, {.row_gradients = true}); });
  value(
      "nn.Sequential(nn.Conv2d(1, 2, 3), ag.relu, nn.Flatten(), nn.Residual(nn.Dense(8, 8)).layer, "
      "nn.TransformerBlock(8, 2)).summary()",
      [] {
        return nn::summary(
            nn::Sequential{nn::Conv2d(1, 2, 3), ag::relu, nn::Flatten(), nn::Dense(8, 8), nn::TransformerBlock(8, 2)});
      });
  value("(lambda tied: nn.Sequential(tied, nn.BatchNorm(3), nn.Sequential(tied)).summary())(nn.Dense(3, 3))", [] {
    const nn::Dense tied(3, 3);
    nn::Sequential inner;
    return nn::summary(nn::Sequential{tied, nn::BatchNorm(3), inner.add(tied)});
  });
}

void activation_layers() {
  const auto plain = [](const char* name, const auto& made) {
    layer("nn." + std::string(name) + "()", {2, 3}, [&] { return made; });
  };
  plain("ReLU", nn::ReLU());
  plain("Sigmoid", nn::Sigmoid());
  plain("Tanh", nn::Tanh());
  plain("SiLU", nn::SiLU());
  plain("GELU", nn::GELU());
  plain("GELUTanh", nn::GELUTanh());
  plain("Softplus", nn::Softplus());
  plain("Softsign", nn::Softsign());
  plain("SELU", nn::SELU());
  plain("Hardswish", nn::Hardswish());
  plain("Mish", nn::Mish());
  plain("LeakyReLU", nn::LeakyReLU());
  plain("ELU", nn::ELU());
  plain("Softmax", nn::Softmax());
  plain("LogSoftmax", nn::LogSoftmax());
  layer("nn.LeakyReLU(slope=0.25)", {2, 3}, [] { return nn::LeakyReLU(0.25); });
  layer("nn.ELU(scale=0.25)", {2, 3}, [] { return nn::ELU(0.25); });
  layer("nn.Softmax(axis=0)", {2, 3}, [] { return nn::Softmax(0); });
  layer("nn.LogSoftmax(0)", {2, 3}, [] { return nn::LogSoftmax(0); });
  layer("nn.PReLU()", {2, 3}, [] { return nn::PReLU(); });
  layer("nn.PReLU(channels=3, initial_slope=0.5)", {2, 3, 2}, [] { return nn::PReLU(3, {.initial_slope = 0.5}); });
  refused("nn.PReLU(0)", [] { return nn::PReLU(0); });
  refused("nn.PReLU(3)(input((2, 4)))", [] { return nn::PReLU(3)(input({2, 4})); });
}

void loss_layers() {
  const std::string two = "input((2, 3)), input((2, 3)) * 2";
  const auto loss = [&](const std::string& python, const auto& made) {
    layer_with(
        "nn." + python, two, [&] { return made; }, input({2, 3}), input({2, 3}) * 2);
  };
  constexpr nn::Reduction mean = nn::Reduction::mean;
  loss("L2Loss()", nn::L2Loss());
  loss("SquaredError(reduction='mean')", nn::SquaredError({.reduction = mean}));
  loss("L1Loss(weight=input((3,)))", nn::L1Loss({.weight = input({3})}));
  loss("HuberLoss(delta=0.25, reduction='mean')", nn::HuberLoss({.delta = 0.25, .reduction = mean}));
  loss("HuberLoss(delta=0)", nn::HuberLoss({.delta = 0}));
  loss("BinaryCrossEntropy(positive_weight=input((3,)))", nn::BinaryCrossEntropy({.positive_weight = input({3})}));
  loss("KLDivergence(reduction='sum')", nn::KLDivergence({.reduction = nn::Reduction::sum}));
  loss("SoftmaxCrossEntropy(label_smoothing=0.5, class_weight=input((3,)))",
       nn::SoftmaxCrossEntropy({.class_weight = input({3}), .label_smoothing = 0.5}));
  loss("CosineSimilarity(axis=0)", nn::CosineSimilarity({.axis = 0}));
  layer_with(
      "nn.NLLLoss(ignore_index=0)", "input((2, 3)), ag.array([2, 0])", [] { return nn::NLLLoss({.ignore_index = 0}); },
      input({2, 3}), ag::Tensor::from(std::vector<std::int64_t>{2, 0}, {2}));
  const ag::Tensor targets = ag::Tensor::from(std::vector<std::int64_t>{1, 1, 2, 1}, {2, 2}),
                   lengths = ag::Tensor::from(std::vector<std::int64_t>{4, 3}, {2}),
                   target_lengths = ag::Tensor::from(std::vector<std::int64_t>{2, 2}, {2});
  layer_with(
      "nn.CTCLoss(reduction='mean')",
      "input((4, 2, 3)), ag.array([[1, 1], [2, 1]]), ag.array([4, 3]), ag.array([2, 2])",
      [] { return nn::CTCLoss({.reduction = mean}); }, input({4, 2, 3}), targets, lengths, target_lengths);
  layer_with(
      "nn.CosineLoss(margin=0.5)", two + ", ag.array([1.0, -1.0])", [] { return nn::CosineLoss({.margin = 0.5}); },
      input({2, 3}), input({2, 3}) * 2, ag::Tensor::from(std::vector<float>{1, -1}, {2}));
}

std::string hex(const nn::RecurrentResult& result) {
  const std::string text = hex(result.output) + ' ' + hex(result.h);
  return result.c.defined() ? text + ' ' + hex(result.c) : text;
}

// The results of layers beside those of their call.
void methods() {
  value("nn.Embedding(5, 3).scores(x=input((2, 3)))", [] { return hex(nn::Embedding(5, 3).scores(input({2, 3}))); });
  value("nn.MultiHeadAttention(4, 2).attend(input((2, 3, 4)), input((2, 5, 4)))", [] {
    return hex(nn::MultiHeadAttention(4, 2).attend(input({2, 3, 4}), input({2, 5, 4}), {}));
  });
  value("nn.MultiHeadAttention(4, 2).attend(x=input((2, 3, 4)), memory=input((2, 5, 4)), mask=input((2, 2, 3, 5)))",
        [] {
          return hex(nn::MultiHeadAttention(4, 2).attend(input({2, 3, 4}), input({2, 5, 4}), input({2, 2, 3, 5})));
        });
  const auto run = [](const std::string& python, const auto& make) {
    value(python + ".run(input((3, 2, 4)))", [&] { return hex(make().run(input({3, 2, 4}))); });
    value(python + ".run(x=input((3, 2, 4)), lengths=ag.array([3, 1]), h=input((1, 2, 3)))", [&] {
      const ag::Tensor lengths = ag::Tensor::from(std::vector<std::int64_t>{3, 1}, {2});
      return hex(make().run(input({3, 2, 4}), {.lengths = lengths, .h = input({1, 2, 3})}));
    });
  };
  run("nn.RNN(4, 3)", [] { return nn::RNN(4, 3); });
  run("nn.GRU(4, 3)", [] { return nn::GRU(4, 3); });
  run("nn.LSTM(4, 3)", [] { return nn::LSTM(4, 3); });
  value("nn.LSTM(4, 3).run(input((3, 2, 4)), c=input((1, 2, 3)))", [] {
    return hex(nn::LSTM(4, 3).run(input({3, 2, 4}), {.c = input({1, 2, 3})}));
  });
  value("nn.LSTM(4, 3).run(input((3, 2, 4)), h=input((2, 2, 3)))", [] {
    return hex(nn::LSTM(4, 3).run(input({3, 2, 4}), {.h = input({2, 2, 3})}));
  });
}

void wrong_layers() {
  refused("nn.Dense(0, 3)", [] { return nn::Dense(0, 3); });
  refused("nn.Dense(2, -3)", [] { return nn::Dense(2, -3); });
  refused("nn.Dense(2, 3, dtype='int64')", [] { return nn::Dense(2, 3, {.dtype = ag::int64}); });
  refused("nn.Dense(2, 3, 'loud')", [] { return nn::Dense(2, 3, nn::activation_named("Dense", "loud")); });
  refused("nn.Dense(2, 3)(ag.ones(4, 3))", [] { return nn::Dense(2, 3)(ag::ones({4, 3})); });
  refused("nn.Dense(2, 3, initialiser=lambda shape, *_: ag.ones(2))", [] {
    return nn::Dense(2, 3, {.initialiser = [](const ag::Shape&, const ag::RandomOptions&, const ag::Location&) {
                       return ag::ones({2});
                     }});
  });
  refused("nn.Conv2d(4, 6, 3, groups=3)", [] { return nn::Conv2d(4, 6, 3, nullptr, {.groups = 3}); });
  refused("nn.Conv1d(4, 6, 0)", [] { return nn::Conv1d(4, 6, 0); });
  refused("nn.ConvTranspose2d(4, 6, 3, groups=3)", [] { return nn::ConvTranspose2d(4, 6, 3, nullptr, {.groups = 3}); });
  refused("nn.ConvTranspose1d(1, 1, 2, output_padding=1)(ag.ones(1, 1, 4))", [] {
    return nn::ConvTranspose1d(1, 1, 2, nullptr, {.output_padding = 1})(ag::ones({1, 1, 4}));
  });
  refused("nn.MaxPool2d(2, padding=2)(ag.ones(1, 1, 4, 4))", [] {
    return nn::MaxPool2d(2, {.padding = 2})(ag::ones({1, 1, 4, 4}));
  });
  refused("nn.GlobalAvgPool2d()(ag.ones(2))", [] { return nn::GlobalAvgPool2d()(ag::ones({2})); });
  refused("nn.BatchNorm(0)", [] { return nn::BatchNorm(0); });
  refused("nn.BatchNorm(1, momentum=2)", [] { return nn::BatchNorm(1, {.momentum = 2}); });
  refused("nn.Upsample(0)", [] { return nn::Upsample(0); });
  refused("nn.InstanceNorm(0)", [] { return nn::InstanceNorm(0); });
  refused("nn.MaxPool1d(2)(ag.ones(1, 4))", [] { return nn::MaxPool1d(2)(ag::ones({1, 4})); });
  refused("nn.GroupNorm(4, 6)", [] { return nn::GroupNorm(4, 6); });
  refused("nn.LayerNorm(0)", [] { return nn::LayerNorm(ag::Shape{0}); });
  refused("nn.RMSNorm(2, epsilon=-1)", [] { return nn::RMSNorm({2}, {.epsilon = -1}); });
  refused("nn.Dropout(1.5)", [] { return nn::Dropout(1.5); });
  refused("nn.Embedding(0, 1)", [] { return nn::Embedding(0, 1); });
  refused("nn.RNN(1, 1, activation='gelu')", [] { return nn::RNN(1, 1, {}, nn::rnn_activation_named("gelu")); });
  refused("nn.LSTM(1, 1, layers=0)", [] { return nn::LSTM(1, 1, {.layers = 0}); });
  refused("nn.RNNCell(0, 1)", [] { return nn::RNNCell(0, 1); });
  refused("nn.GRUCell(2, 3)(input((2, 3)))", [] { return nn::GRUCell(2, 3)(input({2, 3})); });
  refused("nn.GRUCell(2, 3)(input((2, 2)), input((2, 2)))", [] {
    return nn::GRUCell(2, 3)(input({2, 2}), input({2, 2}));
  });
  refused("nn.LSTMCell(2, 3)(input((1, 2, 2)))", [] { return nn::LSTMCell(2, 3)(input({1, 2, 2})); });
  refused("nn.TransformerDecoderBlock(0, 2)", [] { return nn::TransformerDecoderBlock(0, 2); });
  refused("nn.MultiHeadAttention(6, 4)", [] { return nn::MultiHeadAttention(6, 4); });
  refused("nn.TransformerBlock(4, 2, hidden_features=-1)",
          [] { return nn::TransformerBlock(4, 2, {.hidden_features = -1}); });
  refused("nn.PositionalEncoding(0, 4)", [] { return nn::PositionalEncoding(0, 4); });
}

// The loss with the options that it has by default.
std::function<ag::Tensor(const ag::Tensor&, const ag::Tensor&)> defaulted(ag::Tensor (*function)(const ag::Arg&,
                                                                                                 const ag::Arg&)) {
  return [=](const ag::Tensor& x, const ag::Tensor& y) { return function(x, y); };
}
template <class Options>
std::function<ag::Tensor(const ag::Tensor&, const ag::Tensor&)> defaulted(ag::Tensor (*function)(const ag::Arg&,
                                                                                                 const ag::Arg&,
                                                                                                 const Options&)) {
  return [=](const ag::Tensor& x, const ag::Tensor& y) { return function(x, y, {}); };
}

void losses_and_initialisers() {
  const auto loss = [](const char* name, auto* of) {
    const auto function = defaulted(of);
    value(std::string("nn.") + name + "(input((2, 3)), input((2, 3)) * 2)", [=] {
      return hex(function(input({2, 3}), input({2, 3}) * 2));
    });
    value(std::string("nn.") + name + "(input((2, 3)), input((3, 3)))", [=] {
      return hex(function(input({2, 3}), input({3, 3})));
    });
  };
  loss("l2_loss", nn::l2_loss);
  loss("squared_error", nn::squared_error);
  loss("half_squared_error", ag::half_squared_error);
  loss("softmax_cross_entropy", nn::softmax_cross_entropy);
  loss("l1_loss", nn::l1_loss);
  loss("huber_loss", nn::huber_loss);
  loss("binary_cross_entropy", nn::binary_cross_entropy);
  loss("kl_divergence", nn::kl_divergence);
  loss("nll_loss", nn::nll_loss);
  const std::string two = "(input((2, 3)), input((2, 3)) * 2, ";
  const auto with = [&](const std::string& name, const std::string& options, const auto& function, const auto& chosen) {
    value("nn." + name + two + options + ")", [&] { return hex(function(input({2, 3}), input({2, 3}) * 2, chosen)); });
  };
  with("huber_loss", "delta=0.25, reduction='mean'", nn::huber_loss,
       nn::HuberOptions{.delta = 0.25, .reduction = nn::Reduction::mean});
  with("huber_loss", "delta=-1", nn::huber_loss, nn::HuberOptions{.delta = -1});
  with("l1_loss", "reduction='none', weight=input((3,))", nn::l1_loss,
       nn::LossOptions{.reduction = nn::Reduction::none, .weight = input({3})});
  with("l2_loss", "reduction='sum', mask=input((2, 1)) > -1", nn::l2_loss,
       nn::LossOptions{.reduction = nn::Reduction::sum, .mask = input({2, 1}) > -1});
  with("squared_error", "mask=input((3, 3))", nn::squared_error, nn::LossOptions{.mask = input({3, 3})});
  with("squared_error", "weight=input((3, 3))", nn::squared_error, nn::LossOptions{.weight = input({3, 3})});
  with("softmax_cross_entropy", "label_smoothing=0.5, reduction='mean'", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.reduction = nn::Reduction::mean, .label_smoothing = 0.5});
  with("softmax_cross_entropy", "label_smoothing=2", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.label_smoothing = 2});
  with("softmax_cross_entropy", "ignore_index=0", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.ignore_index = 0});
  with("softmax_cross_entropy", "class_weight=input((2,))", nn::softmax_cross_entropy,
       nn::CrossEntropyOptions{.class_weight = input({2})});
  value("nn.nll_loss(input((2, 3)), ag.array([2, 0]), reduction='mean', ignore_index=0)", [] {
    return hex(nn::nll_loss(input({2, 3}), ag::Tensor::from(std::vector<std::int64_t>{2, 0}, {2}),
                            {.reduction = nn::Reduction::mean, .ignore_index = 0}));
  });
  const auto integers = [](const std::vector<std::int64_t>& values, const ag::Shape& shape) {
    return ag::Tensor::from(values, shape);
  };
  const auto ctc = [&](const std::string& options, const nn::CtcOptions& chosen) {
    value(
        "nn.ctc_loss(input((4, 2, 3)), ag.array([[1, 1], [2, 1]]), ag.array([4, 1]), ag.array([2, 2])" + options + ")",
        [&] {
          return hex(nn::ctc_loss(input({4, 2, 3}), integers({1, 1, 2, 1}, {2, 2}), integers({4, 1}, {2}),
                                  integers({2, 2}, {2}), chosen));
        });
  };
  ctc("", {});
  ctc(", reduction='mean', zero_infinity=True", {.reduction = nn::Reduction::mean, .zero_infinity = true});
  ctc(", blank=3", {.blank = 3});
  value("ag.ctc(input((4, 2, 3)), ag.array([[1, 1], [0, 1]]), ag.array([4, 3]), ag.array([2, 2]), blank=2)", [&] {
    return hex(
        ag::ctc(input({4, 2, 3}), integers({1, 1, 0, 1}, {2, 2}), integers({4, 3}, {2}), integers({2, 2}, {2}), 2));
  });
  value("nn.cosine_similarity(input((2, 3)), input((2, 3)) * 2, axis=0)", [] {
    return hex(nn::cosine_similarity(input({2, 3}), input({2, 3}) * 2, {.axis = 0}));
  });
  value("nn.cosine_loss(input((2, 3)), input((2, 3)) * 2, ag.array([1.0, -1.0]), margin=0.5)", [] {
    return hex(nn::cosine_loss(input({2, 3}), input({2, 3}) * 2, ag::Tensor::from(std::vector<float>{1, -1}, {2}),
                               {.margin = 0.5}));
  });
  value("nn.softmax_cross_entropy(logits=input((2, 3)), labels=ag.array([2, 0]))", [] {
    return hex(nn::softmax_cross_entropy(input({2, 3}), ag::Tensor::from(std::vector<std::int64_t>{2, 0}, {2})));
  });
  for (const auto& [name, function] :
       {std::pair("xavier_uniform",
                  nn::Initialiser(static_cast<ag::Tensor (*)(const ag::Shape&, ag::RandomOptions, ag::Location)>(
                      nn::xavier_uniform))),
        std::pair("xavier_normal", nn::Initialiser(nn::xavier_normal)),
        std::pair("he_uniform", nn::Initialiser(nn::he_uniform)),
        std::pair("he_normal", nn::Initialiser(nn::he_normal)), std::pair("normal()", nn::normal()),
        std::pair("normal(standard_deviation=0.5)", nn::normal(0.5)), std::pair("uniform()", nn::uniform()),
        std::pair("truncated_normal()", nn::truncated_normal()),
        std::pair("truncated_normal(standard_deviation=2, bound=0.5)", nn::truncated_normal(2, 0.5)),
        std::pair("truncated_normal(bound=0)", nn::truncated_normal(1, 0)), std::pair("orthogonal()", nn::orthogonal()),
        std::pair("orthogonal(gain=0.5)", nn::orthogonal(0.5)), std::pair("uniform(bound=0.5)", nn::uniform(0.5)),
        std::pair("constant(value=0.25)", nn::constant(0.25)), std::pair("zeros", nn::constant(0)),
        std::pair("ones", nn::constant(1))}) {
    for (const ag::Shape& shape : {ag::Shape{4, 3}, ag::Shape{0}}) {
      value(std::string("nn.init.") + name + "(" + (shape.rank() == 1 ? "(0,)" : "(4, 3)") + ")",
            [&, &function = function] { return hex(function(shape, {}, {})); });
    }
  }
}

void products() {
  value("ag.prod(input((2, 3)))", [] { return hex(ag::prod(input({2, 3}))); });
  value("input((2, 3, 2)).prod(axis=(0, 2), keepdims=True)", [] {
    return hex(ag::prod(input({2, 3, 2}), {0, 2}, true));
  });
  value("ag.prod(input((2, 3)), axis=(0, -2))", [] { return hex(ag::prod(input({2, 3}), {0, -2})); });
  value("ag.einsum('ij,jk->ki', input((2, 3)), input((3, 4)))", [] {
    return hex(ag::einsum("ij,jk->ki", {input({2, 3}), input({3, 4})}));
  });
  value("ag.einsum('ij,jk', input((2, 3)), input((4, 3)))", [] {
    return hex(ag::einsum("ij,jk", {input({2, 3}), input({4, 3})}));
  });
  value("ag.tensordot(input((2, 3)), input((3, 4)), axes=1)", [] {
    return hex(ag::tensordot(input({2, 3}), input({3, 4}), 1));
  });
  value("ag.tensordot(input((2, 3)), input((3, 2)), ([0, 1], [1, 0]))", [] {
    return hex(ag::tensordot(input({2, 3}), input({3, 2}), {0, 1}, {1, 0}));
  });
  value("ag.tensordot(input((2, 3)), input((4, 2)), axes=1)", [] {
    return hex(ag::tensordot(input({2, 3}), input({4, 2}), 1));
  });
}

void tensors_like() {
  value("ag.zeros_like(input((2, 3)))", [] { return hex(ag::zeros_like(input({2, 3}))); });
  value("ag.ones_like(input((2, 3)))", [] { return hex(ag::ones_like(input({2, 3}))); });
  value("ag.full_like(input((2, 3)), value=0.5)", [] { return hex(ag::full_like(input({2, 3}), 0.5)); });
  const auto drawn = [](const std::string& python, ag::Tensor (*function)(const ag::Arg&, ag::Generator*)) {
    value(python + "(input((2, 3)))", [=] { return hex(function(input({2, 3}), nullptr)); });
    value(python + "(input((2, 3)), generator=ag.Generator(3))", [=] {
      ag::Generator generator(3);
      return hex(function(input({2, 3}), &generator));
    });
  };
  drawn("ag.rand_like", ag::rand_like);
  drawn("ag.randn_like", ag::randn_like);
  value("ag.rand_like(ag.arange(3))", [] { return hex(ag::rand_like(ag::arange(0, 3, 1, {.dtype = ag::int64}))); });
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

void optimisers() {
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

struct Numbers {
  std::int64_t size() const { return 10; }
  std::int64_t operator[](std::int64_t i) const { return i; }
};

void batches() {
  const auto order = [](const std::string& options, ag::data::BatchOptions given) {
    value("order(" + options + ")", [&] {
      ag::data::Batches<Numbers> batches(Numbers(), given);
      std::string text;
      for (int epoch = 0; epoch < 3; ++epoch) {
        while (auto batch = batches.next()) {
          for (const auto i : (*batch)[0].to_vector<std::int64_t>()) text += std::to_string(i) + " ";
          text += "| ";
        }
      }
      return text;
    });
  };
  order("", {});
  order("batch_size=3, seed=5", {.batch_size = 3, .seed = 5});
  order("batch_size=4, shuffled=False, drop_last=True, ahead=0",
        {.batch_size = 4, .shuffled = false, .drop_last = true, .ahead = 0});
  const std::vector<double> weights{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  order("sampler=data.weighted(range(10))", {.sampler = ag::data::weighted(weights)});
  order("sampler=data.weighted(weights=range(10), replacement=False, samples=4, seed=3), batch_size=3",
        {.batch_size = 3, .sampler = ag::data::weighted(weights, {.replacement = false, .samples = 4, .seed = 3})});
  order("sampler=lambda count, epoch: range(epoch, count, 3)", {.sampler = [](std::int64_t count, std::int64_t epoch) {
          std::vector<std::int64_t> chosen;
          for (std::int64_t i = epoch; i < count; i += 3) chosen.push_back(i);
          return chosen;
        }});
  order("sampler=lambda *_: [3, 10]", {.sampler = [](std::int64_t, std::int64_t) {
          return std::vector<std::int64_t>{3, 10};
        }});
  order("sampler=data.weighted([1, 2])", {.sampler = ag::data::weighted({1, 2})});
  order("batch_size=0", {.batch_size = 0});
  order("ahead=-1", {.ahead = -1});
  const auto split = [](const std::string& python, const std::vector<double>& shares, ag::data::SplitOptions options) {
    value("' | '.join(str(part.indices) for part in data.split(range(10), " + python + "))", [&] {
      std::string text;
      for (const auto& part : ag::data::split_indices(10, shares, options)) {
        text += text.empty() ? "[" : " | [";
        for (const std::int64_t i : part) text += (text.back() == '[' ? "" : ", ") + std::to_string(i);
        text += "]";
      }
      return text;
    });
  };
  split("[0.8, 0.2]", {0.8, 0.2}, {});
  split("shares=[0.25, 0.25, 0.25], shuffled=False", {0.25, 0.25, 0.25}, {.shuffled = false});
  split("[0.5, 0.5], seed=3", {0.5, 0.5}, {.seed = 3});
  split("[0.5, 0.75]", {0.5, 0.75}, {});
  const ag::data::WeightedOptions weighted;
  defaults("data.weighted",
           {{"replacement", weighted.replacement}, {"samples", weighted.samples}, {"seed", weighted.seed}});
  refused("data.weighted([1, -1])", [] { return ag::data::weighted({1, -1}); });
  refused("data.weighted([0, 0])", [] { return ag::data::weighted({0, 0}); });
  refused("data.weighted([1, 0], replacement=False)", [] {
    return ag::data::weighted({1, 0}, {.replacement = false});
  });
  const ag::data::BatchOptions o;
  defaults("data.Batches", {{"batch_size", o.batch_size},
                            {"shuffled", o.shuffled},
                            {"seed", o.seed},
                            {"drop_last", o.drop_last},
                            {"ahead", o.ahead}});
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
  for (const char* name : {"nn.l2_loss", "nn.L2Loss", "nn.squared_error", "nn.SquaredError", "nn.l1_loss", "nn.L1Loss",
                           "nn.kl_divergence", "nn.KLDivergence"}) {
    defaults(name, {{"reduction", nn::LossOptions{}.reduction}});
  }
  const auto of_loss = [](const char* function, const char* layer, const std::vector<Default>& all) {
    for (const char* name : {function, layer}) defaults(name, all);
  };
  const nn::HuberOptions huber;
  of_loss("nn.huber_loss", "nn.HuberLoss", {{"reduction", huber.reduction}, {"delta", huber.delta}});
  of_loss("nn.binary_cross_entropy", "nn.BinaryCrossEntropy",
          {{"reduction", nn::BinaryCrossEntropyOptions{}.reduction}});
  const nn::CrossEntropyOptions classes;
  of_loss("nn.softmax_cross_entropy", "nn.SoftmaxCrossEntropy",
          {{"reduction", classes.reduction}, {"label_smoothing", classes.label_smoothing}});
  of_loss("nn.nll_loss", "nn.NLLLoss", {{"reduction", classes.reduction}});
  const nn::CtcOptions ctc;
  of_loss("nn.ctc_loss", "nn.CTCLoss",
          {{"reduction", ctc.reduction}, {"blank", ctc.blank}, {"zero_infinity", ctc.zero_infinity}});
  of_loss("nn.cosine_similarity", "nn.CosineSimilarity",
          {{"axis", nn::CosineOptions{}.axis}, {"epsilon", nn::CosineOptions{}.epsilon}});
  const nn::CosineLossOptions cosine;
  of_loss("nn.cosine_loss", "nn.CosineLoss", {{"reduction", cosine.reduction}, {"margin", cosine.margin}});
  defaults("nn.LeakyReLU", {{"slope", nn::LeakyReLU().slope}});
  defaults("nn.ELU", {{"scale", nn::ELU().scale}});
  defaults("nn.Softmax", {{"axis", nn::Softmax().axis}});
  defaults("nn.LogSoftmax", {{"axis", nn::LogSoftmax().axis}});
  defaults("nn.PReLU", {{"channels", 1}, {"initial_slope", nn::PReLUOptions{}.initial_slope}});
  const nn::DenseOptions dense;
  defaults("nn.Dense",
           {{"activation", nn::Dense(1, 1).activation}, {"bias", dense.bias}, {"initialiser", dense.initialiser}});
  const auto of_convolution = [](const std::string& python, ag::Activation activation, const auto& o) {
    std::vector<Default> all{{"activation", activation}, {"stride", o.stride}, {"padding", o.padding}};
    if constexpr (requires { o.output_padding; }) all.emplace_back("output_padding", o.output_padding);
    all.insert(all.end(),
               {{"dilation", o.dilation}, {"groups", o.groups}, {"bias", o.bias}, {"initialiser", o.initialiser}});
    defaults(python, all);
  };
  of_convolution("nn.ConvTranspose1d", nn::ConvTranspose1d(1, 1, 1).activation, nn::ConvTranspose1dOptions{});
  of_convolution("nn.ConvTranspose2d", nn::ConvTranspose2d(1, 1, 1).activation, nn::ConvTranspose2dOptions{});
  of_convolution("nn.Conv1d", nn::Conv1d(1, 1, 1).activation, nn::Conv1dOptions{});
  of_convolution("nn.Conv2d", nn::Conv2d(1, 1, 1).activation, nn::Conv2dOptions{});
  const ag::PoolOptions pool;
  for (const char* name : {"nn.MaxPool2d", "nn.AvgPool2d"})
    defaults(name, {{"stride", pool.stride}, {"padding", pool.padding}});
  for (const char* name : {"nn.MaxPool1d", "nn.AvgPool1d"}) {
    defaults(name, {{"stride", ag::Pool1dOptions{}.stride}, {"padding", ag::Pool1dOptions{}.padding}});
  }
  const ag::InterpolateOptions resized;
  defaults("nn.Upsample", {{"mode", resized.mode}, {"align_corners", resized.align_corners}});
  const nn::InstanceNormOptions instances;
  defaults("nn.InstanceNorm", {{"epsilon", instances.epsilon}, {"affine", instances.affine}});
  defaults("nn.GroupNorm", {{"epsilon", nn::GroupNormOptions{}.epsilon}, {"affine", nn::GroupNormOptions{}.affine}});
  const nn::BatchNormOptions norm;
  defaults("nn.BatchNorm", {{"epsilon", norm.epsilon}, {"momentum", norm.momentum}, {"affine", norm.affine}});
  defaults("nn.LayerNorm", {{"epsilon", nn::LayerNormOptions{}.epsilon}, {"bias", nn::LayerNormOptions{}.bias}});
  defaults("nn.RMSNorm", {{"epsilon", nn::RMSNormOptions{}.epsilon}});
  defaults("nn.Dropout", {{"p", nn::Dropout().p}});
  const nn::EmbeddingOptions embedding;
  defaults("nn.Embedding",
           {{"standard_deviation", embedding.standard_deviation}, {"row_gradients", embedding.row_gradients}});
  const nn::RecurrentOptions recurrent;
  std::vector<Default> of_recurrent{{"layers", recurrent.layers},
                                    {"both_directions", recurrent.both_directions},
                                    {"bias", recurrent.bias},
                                    {"dropout", recurrent.dropout}};
  for (const char* name : {"nn.GRU", "nn.LSTM"}) defaults(name, of_recurrent);
  of_recurrent.emplace_back("activation", nn::RNN(1, 1).activation);
  defaults("nn.RNN", of_recurrent);
  const nn::RecurrentCellOptions cell;
  for (const char* name : {"nn.GRUCell", "nn.LSTMCell"}) defaults(name, {{"bias", cell.bias}});
  defaults("nn.RNNCell", {{"bias", cell.bias}, {"activation", nn::RNNCell(1, 1).activation}});
  const nn::MultiHeadAttentionOptions attention;
  defaults("nn.MultiHeadAttention",
           {{"causal", attention.causal}, {"bias", attention.bias}, {"initialiser", attention.initialiser}});
  const auto of_block = [](const char* name, const auto& block) {
    defaults(name, {{"hidden_features", block.hidden_features},
                    {"causal", block.causal},
                    {"norm_first", block.norm_first},
                    {"dropout", block.dropout},
                    {"activation", block.activation},
                    {"epsilon", block.epsilon},
                    {"bias", block.bias},
                    {"initialiser", block.initialiser}});
  };
  of_block("nn.TransformerBlock", nn::TransformerBlockOptions{});
  of_block("nn.TransformerDecoderBlock", nn::TransformerDecoderBlockOptions{});
  defaults("nn.init.normal", {{"standard_deviation", nn::initial_standard_deviation}});
  defaults("nn.init.uniform", {{"bound", nn::initial_bound}});
  defaults("nn.init.truncated_normal",
           {{"standard_deviation", nn::initial_standard_deviation}, {"bound", nn::initial_truncation}});
  defaults("nn.init.orthogonal", {{"gain", nn::initial_gain}});
}

}  // namespace

int main() {
  layers();
  activation_layers();
  loss_layers();
  methods();
  wrong_layers();
  losses_and_initialisers();
  products();
  tensors_like();
  optimisers();
  batches();
  all_defaults();
}
