// Activations as layers: a row each.
#include <string_view>

#include "call.h"
#include "layer.h"
#include "module.h"

namespace asyncgrad::python {

namespace {

// A layer that applies the function of this name.
template <class Layer>
void bind_plain(nb::module_& m, const char* name, std::string_view function) {
  for (const ElementwiseFunction& row : elementwise_functions()) {
    if (row.name != function) continue;
    bind_layer<Layer, NoOptions>(m, {.name = name, .doc = row.computes}, [](const NoOptions&) { return Layer(); });
  }
}

// A layer of one number, which has a default.
template <class Layer>
void bind_with_number(nb::module_& m, const char* name, const char* number, double usual, const char* doc) {
  bind_layer<Layer, NoOptions, double>(
      m, {.name = name, .doc = doc, .given = {number}, .required = 0, .defaults = {usual}},
      [](const double& given, const NoOptions&) { return Layer(given, here()); });
}

template <class Layer>
void bind_along_axis(nb::module_& m, const char* name, const char* doc) {
  bind_layer<Layer, NoOptions, int>(
      m, {.name = name, .doc = doc, .given = {"axis"}, .required = 0, .defaults = {Layer().axis}},
      [](const int& axis, const NoOptions&) { return Layer(axis, here()); });
}

}  // namespace

void bind_activation_layers(nb::module_& m) {
  bind_plain<nn::ReLU>(m, "ReLU", "relu");
  bind_plain<nn::Sigmoid>(m, "Sigmoid", "sigmoid");
  bind_plain<nn::Tanh>(m, "Tanh", "tanh");
  bind_plain<nn::SiLU>(m, "SiLU", "silu");
  bind_plain<nn::GELU>(m, "GELU", "gelu");
  bind_plain<nn::GELUTanh>(m, "GELUTanh", "gelu_tanh");
  bind_plain<nn::Softplus>(m, "Softplus", "softplus");
  bind_plain<nn::Softsign>(m, "Softsign", "softsign");
  bind_plain<nn::SELU>(m, "SELU", "selu");
  bind_plain<nn::Hardswish>(m, "Hardswish", "hardswish");
  bind_plain<nn::Mish>(m, "Mish", "mish");
  bind_with_number<nn::LeakyReLU>(m, "LeakyReLU", "slope", leaky_relu_slope, "x, or slope x where x < 0.");
  bind_with_number<nn::ELU>(m, "ELU", "scale", elu_scale, "x, or scale (e^x - 1) where x < 0.");
  bind_along_axis<nn::Softmax>(m, "Softmax", "e^x / sum(e^x) along an axis.");
  bind_along_axis<nn::LogSoftmax>(m, "LogSoftmax", "x - log(sum(e^x)) along an axis.");
  using P = nn::PReLUOptions;
  bind_layer<nn::PReLU, P, std::int64_t>(
      m,
      {.name = "PReLU",
       .doc = "leaky_relu with a slope that is learned, one for all elements or one for each channel: x (N, C, ...).",
       .given = {"channels"},
       .required = 0,
       .defaults = {1},
       .options = with_common<P>({{"initial_slope", &P::initial_slope}})},
      [](const std::int64_t& channels, const P& options) { return nn::PReLU(channels, options, here()); });
}

}  // namespace asyncgrad::python
