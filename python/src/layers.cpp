// Layers of the library: a row each. Those for sequences are in sequence_layers.cpp, activations in
// activation_layers.cpp, losses in losses.cpp.
#include "call.h"
#include "conversion.h"
#include "layer.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

using nb::handle;
using Count = std::int64_t;

// Replaces tensors of a layer, also those that it does not have yet, by those of a dict, by their paths.
class Rebind final : public nn::Members::Visitor {
 public:
  explicit Rebind(nb::dict tensors) : tensors_(std::move(tensors)) {}
  void tensor(const std::string& path, Tensor& tensor) override {
    const nb::str key(path.c_str());
    if (!tensors_.contains(key)) return;
    const nb::object given = tensors_[key];
    tensor = given.is_none() ? Tensor() : tensor_in(given.ptr());
  }
  void undefined(const std::string& path, Tensor& tensor) override { this->tensor(path, tensor); }

 private:
  nb::dict tensors_;
};

// The tensors by their paths, with None for those that the layer does not have.
class Collect final : public nn::Members::Visitor {
 public:
  void tensor(const std::string& path, Tensor& tensor) override {
    tensors[path.c_str()] = nb::steal(new_object(Tensor(tensor), tensor_type));
  }
  void undefined(const std::string& path, Tensor&) override { tensors[path.c_str()] = nb::none(); }

  nb::dict tensors;
};

// The library's list is that of a layer; this one stands for it.
struct Listed {
  Layer* layer;
  void members(nn::Members& m) { layer->members(m); }
};

void bind_any_layer(nb::module_& m) {
  nb::class_<Layer>(m, "_Layer")
      .def("_tensors",
           [](Layer& self) {
             Listed listed{&self};
             Collect visitor;
             nn::Members::visit(listed, visitor);
             return visitor.tensors;
           })
      .def("_rebind", [](Layer& self, nb::dict tensors) {
        Listed listed{&self};
        Rebind visitor(std::move(tensors));
        nn::Members::visit(listed, visitor);
      });
}

template <class Kind, class Options, class Size>
void bind_convolution(nb::module_& m, const char* name, const char* doc) {
  OptionList<Options> options{{"stride", &Options::stride}, {"padding", &Options::padding}};
  if constexpr (requires { &Options::output_padding; }) {
    options.emplace_back("output_padding", &Options::output_padding);
  }
  options.emplace_back("dilation", &Options::dilation);
  options.emplace_back("groups", &Options::groups);
  options.emplace_back("bias", &Options::bias);
  bind_layer<Kind, Options, Count, Count, Size, FollowingActivation>(
      m,
      {.name = name,
       .doc = doc,
       .given = {"in_channels", "out_channels", "kernel_size", "activation"},
       .required = 3,
       .defaults = {0, 0, Size(0), {}},
       .options = with_common<Options>(std::move(options))},
      [](const Count& in, const Count& out, const Size& kernel, const FollowingActivation& activation,
         const Options& chosen) { return Kind(in, out, kernel, activation.function, chosen, here()); });
}

void bind_convolutions(nb::module_& m) {
  bind_convolution<nn::Conv2d, nn::Conv2dOptions, Size2d>(
      m, "Conv2d",
      "activation(conv2d(x, weight, bias)): x (N, I, H, W), weight (O, I / groups, h, w), bias (O) -> (N, O, P, Q).\n\n"
      "Sizes are numbers or pairs (height, width). The activation is a name or a function.");
  bind_convolution<nn::Conv1d, nn::Conv1dOptions, Count>(
      m, "Conv1d", "Conv2d with one axis: x (N, I, L), weight (O, I / groups, k), bias (O) -> (N, O, M).");
  bind_convolution<nn::ConvTranspose2d, nn::ConvTranspose2dOptions, Size2d>(
      m, "ConvTranspose2d",
      "activation(conv_transpose2d(x, weight, bias)): x (N, I, H, W), weight (I, O / groups, h, w), bias (O) -> (N, O, "
      "P, "
      "Q).\n\nSizes are numbers or pairs (height, width). The activation is a name or a function.");
  bind_convolution<nn::ConvTranspose1d, nn::ConvTranspose1dOptions, Count>(
      m, "ConvTranspose1d",
      "ConvTranspose2d with one axis: x (N, I, L), weight (I, O / groups, k), bias (O) -> (N, O, M).");
}

void bind_pools(nb::module_& m) {
  const OptionList<PoolOptions> options{{"stride", &PoolOptions::stride}, {"padding", &PoolOptions::padding}};
  bind_layer<nn::MaxPool2d, PoolOptions, Size2d>(
      m,
      {.name = "MaxPool2d",
       .doc = "The largest element of each window: (N, C, H, W) -> (N, C, P, Q). A stride of 0 or None is the "
              "kernel_size.",
       .given = {"kernel_size"},
       .defaults = {Size2d(0)},
       .options = options},
      [](const Size2d& kernel, const PoolOptions& how) { return nn::MaxPool2d(kernel, how, here()); });
  bind_layer<nn::AvgPool2d, PoolOptions, Size2d>(
      m,
      {.name = "AvgPool2d",
       .doc = "The mean of each window, in which padding counts as 0. A stride of 0 or None is the kernel_size.",
       .given = {"kernel_size"},
       .defaults = {Size2d(0)},
       .options = options},
      [](const Size2d& kernel, const PoolOptions& how) { return nn::AvgPool2d(kernel, how, here()); });
  const OptionList<Pool1dOptions> of_lines{{"stride", &Pool1dOptions::stride}, {"padding", &Pool1dOptions::padding}};
  bind_layer<nn::MaxPool1d, Pool1dOptions, Count>(
      m,
      {.name = "MaxPool1d",
       .doc = "MaxPool2d with one axis: (N, C, L) -> (N, C, M). A stride of 0 is the kernel_size.",
       .given = {"kernel_size"},
       .options = of_lines},
      [](const Count& kernel, const Pool1dOptions& how) { return nn::MaxPool1d(kernel, how, here()); });
  bind_layer<nn::AvgPool1d, Pool1dOptions, Count>(
      m,
      {.name = "AvgPool1d",
       .doc = "AvgPool2d with one axis: (N, C, L) -> (N, C, M). A stride of 0 is the kernel_size.",
       .given = {"kernel_size"},
       .options = of_lines},
      [](const Count& kernel, const Pool1dOptions& how) { return nn::AvgPool1d(kernel, how, here()); });
  bind_layer<nn::Upsample, InterpolateOptions, Count>(
      m,
      {.name = "Upsample",
       .doc = "interpolate() to planes that are `scale` times as high and wide. The mode is 'nearest' or 'bilinear'.",
       .given = {"scale"},
       .options = {{"mode", &InterpolateOptions::mode}, {"align_corners", &InterpolateOptions::align_corners}}},
      [](const Count& scale, const InterpolateOptions& how) { return nn::Upsample(scale, how, here()); });
  bind_layer<nn::Identity, NoOptions>(m, {.name = "Identity", .doc = "x itself.", .given = {}},
                                      [](const NoOptions&) { return nn::Identity(); });
  bind_layer<nn::GlobalAvgPool2d, NoOptions>(
      m, {.name = "GlobalAvgPool2d", .doc = "The mean of each channel: (N, C, H, W) -> (N, C).", .given = {}},
      [](const NoOptions&) { return nn::GlobalAvgPool2d(); });
  bind_layer<nn::Flatten, NoOptions>(
      m, {.name = "Flatten", .doc = "(N, A, B, ...) -> (N, A B ...); shares the values.", .given = {}},
      [](const NoOptions&) { return nn::Flatten(); });
}

void bind_norms(nb::module_& m) {
  using L = nn::LayerNormOptions;
  bind_layer<nn::LayerNorm, L, Shape>(
      m,
      {.name = "LayerNorm",
       .doc = "(x - mean) / sqrt(variance + epsilon) weight + bias over the last axes, whose extents `row` has: "
              "x (..., C) -> (..., C).",
       .given = {"row"},
       .options = with_common<L>({{"epsilon", &L::epsilon}, {"bias", &L::bias}})},
      [](const Shape& row, const L& options) { return nn::LayerNorm(row, options, here()); });
  using R = nn::RMSNormOptions;
  bind_layer<nn::RMSNorm, R, Shape>(
      m,
      {.name = "RMSNorm",
       .doc = "x / sqrt(mean(x^2) + epsilon) weight over the last axes, whose extents `row` has.",
       .given = {"row"},
       .options = with_common<R>({{"epsilon", &R::epsilon}})},
      [](const Shape& row, const R& options) { return nn::RMSNorm(row, options, here()); });
  using G = nn::GroupNormOptions;
  bind_layer<nn::GroupNorm, G, Count, Count>(
      m,
      {.name = "GroupNorm",
       .doc = "(x - mean) / sqrt(variance + epsilon) weight + bias over groups of channels of each sample: x (N, C) or "
              "(N, C, ...).",
       .given = {"groups", "channels"},
       .options = with_common<G>({{"epsilon", &G::epsilon}, {"affine", &G::affine}})},
      [](const Count& groups, const Count& channels, const G& options) {
        return nn::GroupNorm(groups, channels, options, here());
      });
  using I = nn::InstanceNormOptions;
  bind_layer<nn::InstanceNorm, I, Count>(
      m,
      {.name = "InstanceNorm",
       .doc = "GroupNorm in which every channel is a group: x (N, C, ...).",
       .given = {"channels"},
       .options = with_common<I>({{"epsilon", &I::epsilon}, {"affine", &I::affine}})},
      [](const Count& channels, const I& options) { return nn::InstanceNorm(channels, options, here()); });
  using B = nn::BatchNormOptions;
  bind_layer<nn::BatchNorm, B, Count>(
      m,
      {.name = "BatchNorm",
       .doc = "(x - mean) / sqrt(variance + epsilon) weight + bias for each channel: x (N, C) or (N, C, ...).\n\n"
              "In training the statistics are those of the batch, and running_mean and running_var take the share "
              "`momentum` of them; in evaluation these take their place. affine=False: no weight and no bias.",
       .given = {"channels"},
       .options = with_common<B>({{"epsilon", &B::epsilon}, {"momentum", &B::momentum}, {"affine", &B::affine}})},
      [](const Count& channels, const B& options) { return nn::BatchNorm(channels, options, here()); });
}

// The options of a Dropout beside p.
struct DropoutOptions {
  Generator* generator = nullptr;
};

}  // namespace

void bind_layers(nb::module_& m) {
  nb::list activations;
  for (const nn::NamedActivation& row : nn::named_activations()) activations.append(row.name);
  m.attr("_activations") = activations;
  bind_any_layer(m);
  using D = nn::DenseOptions;
  bind_layer<nn::Dense, D, Count, Count, FollowingActivation>(
      m,
      {.name = "Dense",
       .doc = "activation(x weight + bias): x (..., I), weight (I, O), bias (O) -> (..., O). The activation is a name "
              "or a function.",
       .given = {"in_features", "out_features", "activation"},
       .required = 2,
       .options = with_common<D>({{"bias", &D::bias}})},
      [](const Count& in, const Count& out, const FollowingActivation& activation, const D& options) {
        return nn::Dense(in, out, activation.function, options, here());
      });
  bind_activation_layers(m);
  bind_convolutions(m);
  bind_pools(m);
  bind_norms(m);
  bind_layer<nn::Dropout, DropoutOptions, double>(
      m,
      {.name = "Dropout",
       .doc = "In training 0 with probability p, else x / (1 - p); else x.",
       .given = {"p"},
       .required = 0,
       .defaults = {dropout_probability},
       .options = {{"generator", &DropoutOptions::generator}}},
      [](const double& p, const DropoutOptions& options) { return nn::Dropout(p, options.generator, here()); });
  using E = nn::EmbeddingOptions;
  OptionList<E> of_embedding = with_common<E>({{"standard_deviation", &E::standard_deviation}});
  of_embedding.emplace_back("row_gradients", &E::row_gradients);  // last, as pickles of 0.1.0 have the others by place
  bind_layer<nn::Embedding, E, Count, Count>(
      m,
      {.name = "Embedding",
       .doc = "weight[indices]: indices (...) int64, weight (count, features) -> (..., features). With row_gradients "
              "the weight's gradient is kept by rows, and a step changes those that were looked up alone.",
       .given = {"count", "features"},
       .options = std::move(of_embedding)},
      [](const Count& count, const Count& features, const E& options) {
        return nn::Embedding(count, features, options, here());
      })
      .def(
          "scores",
          [](const Held<nn::Embedding>& self, handle x) {
            const Call call(x);
            return call.result(self.layer.scores(call.arg(tensor_from(x))));
          },
          nb::arg("x"), "x weight^T: x (..., features) -> (..., count).");
  bind_sequence_layers(m);
}

}  // namespace asyncgrad::python
