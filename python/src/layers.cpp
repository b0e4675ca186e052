// Layers of the library as they are: a row each. asyncgrad/nn/native.py makes Modules of them.
#include <nanobind/stl/string.h>

#include "binding.h"

namespace asyncgrad::python {

namespace {

using nb::handle;

// Replaces the tensors of a layer by those of a dict, by their paths.
class Rebind final : public nn::Members::Visitor {
 public:
  explicit Rebind(nb::dict tensors) : tensors_(std::move(tensors)) {}
  void layer(const std::string&, const std::string&) override {}
  void tensor(const std::string& path, Tensor& tensor) override {
    const nb::str key(path.c_str());
    if (tensors_.contains(key)) tensor = tensor_in(nb::object(tensors_[key]).ptr());
  }

 private:
  nb::dict tensors_;
};

template <class Layer, class... Arguments>
nb::class_<Layer> bind_layer(nb::module_& m, const char* name, Layer (*make)(Arguments...)) {
  nb::class_<Layer> layer(m, name);
  layer.def("__init__", [make](Layer* self, Arguments... arguments) { new (self) Layer(make(arguments...)); })
      .def("__call__",
           [](const Layer& self, handle x) {
             const Call call(x);
             return call.result(self(call.arg(tensor_from(x))));
           })
      .def("_copy", [](const Layer& self) { return Layer(self); })
      .def("_state",
           [](const Layer& self) {
             nb::list rows;
             for (auto& [path, tensor] : nn::state(self)) {
               rows.append(nb::make_tuple(path, nb::steal(new_object(std::move(tensor), tensor_type))));
             }
             return rows;
           })
      .def("_rebind", [](Layer& self, nb::dict tensors) {
        Rebind visitor(std::move(tensors));
        nn::Members::visit(self, visitor);
      });
  return layer;
}

template <class Options>
Options options_of(const std::string& dtype, const std::string& device) {
  Options options;
  options.dtype = dtype_from(nb::str(dtype.c_str()));
  options.device = device.empty() ? default_device() : Device(std::string_view(device));
  if constexpr (requires { options.generator; }) options.generator = &default_random();
  return options;
}

using Text = const std::string&;
using Count = std::int64_t;

nn::RecurrentOptions recurrent(int layers, bool both, bool bias, double dropout, Text dtype, Text device) {
  auto options = options_of<nn::RecurrentOptions>(dtype, device);
  options.layers = layers;
  options.both_directions = both;
  options.bias = bias;
  options.dropout = dropout;
  return options;
}

template <class Layer>
void bind_recurrent(nb::class_<Layer> layer) {
  layer.def(
      "run",
      [](const Layer& self, handle x, handle lengths, handle h, handle c) {
        const Call call(x);
        const auto given = [](handle object) { return object.is_none() ? Tensor() : tensor_from(object); };
        nn::RecurrentResult result =
            self.run(call.arg(tensor_from(x)), {.lengths = given(lengths), .h = given(h), .c = given(c)});
        nb::list parts;
        for (Tensor* part : {&result.output, &result.h, &result.c}) {
          parts.append(part->defined() ? call.result(std::move(*part)) : nb::object(nb::none()));
        }
        return parts;
      },
      nb::arg("x"), nb::arg("lengths").none(), nb::arg("h").none(), nb::arg("c").none());
}

Activation activation_named(Text name) {
  if (name == "relu") return relu;
  if (name == "gelu") return gelu;
  if (name == "gelu_tanh") return gelu_tanh;
  if (name == "silu") return silu;
  if (name == "tanh") return tanh;
  throw_value_error("an activation is relu, gelu, gelu_tanh, silu or tanh, not " + name);
}

}  // namespace

void bind_layers(nb::module_& m) {
  bind_layer(
      m, "_LayerNorm", +[](nb::object row, double epsilon, bool bias, Text dtype, Text device) {
        auto options = options_of<nn::LayerNormOptions>(dtype, device);
        options.epsilon = epsilon;
        options.bias = bias;
        return nn::LayerNorm(shape_from(row), options, here());
      });
  bind_layer(
      m, "_RMSNorm", +[](nb::object row, double epsilon, Text dtype, Text device) {
        auto options = options_of<nn::RMSNormOptions>(dtype, device);
        options.epsilon = epsilon;
        return nn::RMSNorm(shape_from(row), options, here());
      });
  bind_layer(
      m, "_Conv2d",
      +[](Count in, Count out, nb::object kernel, nb::object stride, nb::object padding, nb::object dilation,
          Count groups, bool bias, Text dtype, Text device) {
        auto options = options_of<nn::Conv2dOptions>(dtype, device);
        options.stride = size_from(stride);
        options.padding = size_from(padding);
        options.dilation = size_from(dilation);
        options.groups = groups;
        options.bias = bias;
        return nn::Conv2d(in, out, size_from(kernel), {}, options, here());
      });
  bind_layer(
      m, "_Conv1d",
      +[](Count in, Count out, Count kernel, Count stride, Count padding, Count dilation, Count groups, bool bias,
          Text dtype, Text device) {
        auto options = options_of<nn::Conv1dOptions>(dtype, device);
        options.stride = stride;
        options.padding = padding;
        options.dilation = dilation;
        options.groups = groups;
        options.bias = bias;
        return nn::Conv1d(in, out, kernel, {}, options, here());
      });
  bind_layer(
      m, "_BatchNorm", +[](Count channels, double epsilon, double momentum, bool affine, Text dtype, Text device) {
        auto options = options_of<nn::BatchNormOptions>(dtype, device);
        options.epsilon = epsilon;
        options.momentum = momentum;
        options.affine = affine;
        return nn::BatchNorm(channels, options, here());
      });
  bind_layer(
      m, "_Dropout", +[](double p) { return nn::Dropout(p, &default_random()); });
  bind_layer(
      m, "_Embedding",
      +[](Count count, Count features, double deviation, Text dtype, Text device) {
        auto options = options_of<nn::EmbeddingOptions>(dtype, device);
        options.standard_deviation = deviation;
        return nn::Embedding(count, features, options, here());
      })
      .def("scores", [](const nn::Embedding& self, handle x) {
        const Call call(x);
        return call.result(self.scores(call.arg(tensor_from(x))));
      });
  bind_recurrent(bind_layer(
      m, "_RNN",
      +[](Count in, Count hidden, int layers, bool both, bool bias, double dropout, Text dtype, Text device,
          bool is_relu) {
        return nn::RNN(in, hidden, recurrent(layers, both, bias, dropout, dtype, device),
                       is_relu ? nn::RnnActivation::relu : nn::RnnActivation::tanh, here());
      }));
  bind_recurrent(bind_layer(
      m, "_GRU",
      +[](Count in, Count hidden, int layers, bool both, bool bias, double dropout, Text dtype, Text device) {
        return nn::GRU(in, hidden, recurrent(layers, both, bias, dropout, dtype, device), here());
      }));
  bind_recurrent(bind_layer(
      m, "_LSTM",
      +[](Count in, Count hidden, int layers, bool both, bool bias, double dropout, Text dtype, Text device) {
        return nn::LSTM(in, hidden, recurrent(layers, both, bias, dropout, dtype, device), here());
      }));
  bind_layer(
      m, "_MultiHeadAttention",
      +[](Count features, Count heads, bool causal, bool bias, Text dtype, Text device) {
        auto options = options_of<nn::MultiHeadAttentionOptions>(dtype, device);
        options.causal = causal;
        options.bias = bias;
        return nn::MultiHeadAttention(features, heads, options, here());
      })
      .def(
          "attend",
          [](const nn::MultiHeadAttention& self, handle x, handle memory, handle mask) {
            const Call call(x);
            return call.result(self.attend(call.arg(tensor_from(x)), call.arg(tensor_from(memory)),
                                           mask.is_none() ? Tensor() : tensor_from(mask)));
          },
          nb::arg("x"), nb::arg("memory"), nb::arg("mask").none());
  bind_layer(
      m, "_TransformerBlock",
      +[](Count features, Count heads, Count hidden, bool causal, bool norm_first, double dropout, Text activation,
          double epsilon, bool bias, Text dtype, Text device) {
        auto options = options_of<nn::TransformerBlockOptions>(dtype, device);
        options.hidden = hidden;
        options.causal = causal;
        options.norm_first = norm_first;
        options.dropout = dropout;
        options.activation = activation_named(activation);
        options.epsilon = epsilon;
        options.bias = bias;
        return nn::TransformerBlock(features, heads, options, here());
      });
  bind_layer(
      m, "_PositionalEncoding", +[](Count longest, Count features, Text dtype, Text device) {
        return nn::PositionalEncoding(longest, features, options_of<nn::PositionalEncodingOptions>(dtype, device),
                                      here());
      });
}

}  // namespace asyncgrad::python
