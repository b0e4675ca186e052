// The functions that other layers are made of: normalisation, dropout, attention.
#include "call.h"
#include "conversion.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

void bind_batch_norm(nb::module_& m) {
  m.def(
      "batch_norm",
      [](Handle x, Handle weight, Handle bias, double epsilon) {
        const Call call(x);
        BatchNormResult result =
            batch_norm(call.arg(tensor_from(x)), tensor_or_none(weight), tensor_or_none(bias), {.epsilon = epsilon});
        return nb::make_tuple(call.result(std::move(result.y)), call.result(std::move(result.mean)),
                              call.result(std::move(result.variance)));
      },
      nb::arg("x"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("epsilon") = asyncgrad::BatchNormOptions{}.epsilon,
      "((x - mean) / sqrt(variance + epsilon) weight + bias, mean, variance), with the mean and variance of each "
      "channel: x (N, C) or (N, C, ...), the others (C).");
  m.def(
      "batch_norm_with",
      [](Handle x, Handle mean, Handle variance, Handle weight, Handle bias, double epsilon) {
        const Call call(x);
        return call.result(batch_norm_with(call.arg(tensor_from(x)), tensor_from(mean), tensor_from(variance),
                                           tensor_or_none(weight), tensor_or_none(bias), {.epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("mean"), nb::arg("variance"), nb::arg("weight") = nb::none(), nb::arg("bias") = nb::none(),
      nb::arg("epsilon") = asyncgrad::BatchNormOptions{}.epsilon,
      "batch_norm() with statistics that are given: x (N, C) or (N, C, ...), the others (C).");
  m.def(
      "update_running",
      [](Handle running, double keep, Handle value, double weight) {
        const Call call(value);
        nn::update_running(tensor_in(running.ptr()), keep, call.arg(tensor_from(value)), weight);
      },
      nb::arg("running"), nb::arg("keep"), nb::arg("value"), nb::arg("weight"),
      "running <- keep running + weight value, in place and without a history: how a layer goes on with a running "
      "statistic. In the loop over asyncgrad.dist.Parts.mine() average() makes the update.");
}

}  // namespace

void bind_layer_functions(nb::module_& m) {
  bind_batch_norm(m);
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
        return call.result(dropout(call.arg(tensor_from(x)), p, generator_from(from, "dropout")));
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
