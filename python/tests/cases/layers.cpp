// Layers of products, of windows and of normalisation, and what is made of layers.
#include <cstdint>
#include <string>
#include <vector>

#include "python/tests/cases/case.h"

namespace cases {

namespace {

void values() {
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
  value("nn.update_running(running := input((3,)), 0.5, input((3,)) * 2, 0.25) or running", [] {
    const ag::Tensor running = input({3});
    nn::update_running(running, 0.5, input({3}) * 2, 0.25);
    return hex(running);
  });
  value("nn.Embedding(5, 3).scores(x=input((2, 3)))", [] { return hex(nn::Embedding(5, 3).scores(input({2, 3}))); });
}

void wrong() {
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
  refused("nn.ConvTranspose1d(1, 1, 2, output_padding=1)",
          [] { return nn::ConvTranspose1d(1, 1, 2, nullptr, {.output_padding = 1}); });
  refused("nn.Conv2d(4, 6, 3, stride=0)", [] { return nn::Conv2d(4, 6, 3, nullptr, {.stride = 0}); });
  refused("nn.MaxPool2d(2, padding=2)", [] { return nn::MaxPool2d(2, {.padding = 2}); });
  refused("nn.Softmax(7)", [] { return nn::Softmax(7); });
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
}

void all_defaults() {
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
}

}  // namespace

void layers() {
  values();
  wrong();
  all_defaults();
}

}  // namespace cases
