// The functions that layers without convolution are made of: normalisation, dropout, attention.
#include "functions.h"

namespace asyncgrad::python {

void bind_layer_functions(nb::module_& m) {
  m.def(
      "layer_norm",
      [](Handle x, Handle weight, Handle bias, int axes, double epsilon) {
        const Call call(x);
        return call.result(layer_norm(call.arg(tensor_from(x)), tensor_or_none(weight), tensor_or_none(bias),
                                      {.axes = axes, .epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(), nb::arg("axes") = NormOptions{}.axes,
      nb::arg("epsilon") = NormOptions{}.epsilon,
      "(x - mean) / sqrt(variance + epsilon) weight + bias, with the mean and variance over the last `axes` axes, "
      "whose shape weight and bias have.");
  m.def(
      "rms_norm",
      [](Handle x, Handle weight, int axes, double epsilon) {
        const Call call(x);
        return call.result(
            rms_norm(call.arg(tensor_from(x)), tensor_or_none(weight), {.axes = axes, .epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("weight") = nb::none(), nb::arg("axes") = NormOptions{}.axes,
      nb::arg("epsilon") = NormOptions{}.epsilon,
      "x / sqrt(mean(x^2) + epsilon) weight, with the mean over the last `axes` axes, whose shape weight has.");
  m.def(
      "group_norm",
      [](Handle x, std::int64_t groups, Handle weight, Handle bias, double epsilon) {
        const Call call(x);
        return call.result(
            group_norm(call.arg(tensor_from(x)), groups, tensor_or_none(weight), tensor_or_none(bias), epsilon));
      },
      nb::arg("x"), nb::arg("groups"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("epsilon") = NormOptions{}.epsilon,
      "As layer_norm over groups of the channels of x (N, C, ...), with a weight and a bias for each channel.");
  m.def(
      "dropout",
      [](Handle x, double p, Handle from) {
        const Call call(x);
        return call.result(dropout(call.arg(tensor_from(x)), p, generator_from(from)));
      },
      nb::arg("x"), nb::arg("p") = dropout_probability, nb::arg("generator") = nb::none(),
      "0 with probability p, else x / (1 - p), whether layers train or not.");
  m.def(
      "scaled_dot_product_attention",
      [](Handle q, Handle k, Handle v, bool causal, Handle mask, Handle scale) {
        const Call call(q);
        AttentionOptions options{.causal = causal, .mask = tensor_or_none(mask), .scale{}};
        if (!scale.is_none()) options.scale = float_from(scale, "[scaled_dot_product_attention] scale");
        return call.result(scaled_dot_product_attention(call.arg(tensor_from(q)), call.arg(tensor_from(k)),
                                                        call.arg(tensor_from(v)), options));
      },
      nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("causal") = AttentionOptions{}.causal,
      nb::arg("mask") = nb::none(), nb::arg("scale") = nb::none(),
      "softmax(scale q k^T + mask) v: q (..., T, D), k (..., S, D), v (..., S, E) -> (..., T, E). The scale is "
      "1 / sqrt(D) unless it is given.");
}

}  // namespace asyncgrad::python
