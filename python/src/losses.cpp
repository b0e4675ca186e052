// Losses: a row each, from which a function and a layer follow. Their options are those of C++.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "call.h"
#include "conversion.h"
#include "functions.h"
#include "layer.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

struct NamedReduction {
  const char* name;
  nn::Reduction reduction;
};
constexpr NamedReduction reductions[] = {{"samples", nn::Reduction::samples},
                                         {"none", nn::Reduction::none},
                                         {"mean", nn::Reduction::mean},
                                         {"sum", nn::Reduction::sum}};

template <std::size_t>
using AnyObject = nb::object;

// What is bound of a loss: a function, and a layer that keeps the options.
template <class Options, std::size_t count>
struct LossRow {
  const char *name, *layer;
  std::array<const char*, count> given;  // the tensors, which come first
  OptionList<Options> options;
  std::string doc, layer_doc = name + ("() with its options as a layer. " + doc);
};

template <class Options, std::size_t... I>
void bind_function(nb::module_& m, const LossRow<Options, sizeof...(I)>& loss, auto* function,
                   std::index_sequence<I...>) {
  const auto* const row = new Row<Options, AnyObject<I>...>{.name = loss.name,
                                                            .doc = loss.doc.c_str(),
                                                            .given = loss.given,
                                                            .options = loss.options,
                                                            .options_by_name = true};
  const std::string signature = std::string("def ") + loss.name + "(" + text_of(row->parameters()) + ") -> Tensor";
  const auto computed = [function](const auto& tensors, const Options& chosen) {
    const Call call(tensors[0]);
    return call.result(function(call.arg(tensor_from(tensors[I]))..., chosen));
  };
  m.def(
      loss.name,
      [row, computed](const nb::args& args, const nb::kwargs& kwargs) {
        // Most calls have no options: they are not read one by one.
        if (args.size() == sizeof...(I) && kwargs.size() == 0) return computed(args, {});
        const auto values = row->read(args, kwargs);
        return computed(std::array<nb::object, sizeof...(I)>{std::get<I>(values.given)...}, values.options);
      },
      nb::sig(signature.c_str()), loss.doc.c_str());
}

template <class Layer, class Options, std::size_t... I>
void bind_layer_of(nb::module_& m, const LossRow<Options, sizeof...(I)>& loss, std::index_sequence<I...>) {
  bind_layer<Layer, Options>(m, {.name = loss.layer, .doc = loss.layer_doc.c_str(), .options = loss.options},
                             [](const Options& options) { return Layer(options, here()); })
      .def(
          "__call__",
          [](const Held<Layer>& self, AnyObject<I>... tensors) {
            const std::array all{tensors...};
            const Call call(all[0]);
            return call.result(self.layer(call.arg(tensor_from(all[I]))...));
          },
          nb::arg(loss.given[I])...);
}

// The rows live as long as the process.
template <class Layer, class Options, std::size_t count>
void bind_loss(nb::module_& m, LossRow<Options, count> loss, auto* function) {
  loss.options.insert(loss.options.begin(), {"reduction", &Options::reduction});
  const auto& kept = *new LossRow<Options, count>(std::move(loss));
  bind_function(m, kept, function, std::make_index_sequence<count>());
  bind_layer_of<Layer>(m, kept, std::make_index_sequence<count>());
}

template <class Options>
OptionList<Options> with_weights(OptionList<Options> options = {}) {
  options.emplace_back("weight", &Options::weight);
  options.emplace_back("mask", &Options::mask);
  return options;
}

const char* const reduces =
    "\n\nreduction='samples' gives the mean over all axes but the first, 'none' all losses, 'mean' and 'sum' a scalar. "
    "The losses are multiplied by `weight`; those where `mask`, of bool, is false do not count.";

// Those of autograd/elementwise.h and autograd/softmax.h, which have no options and no layer.
void bind_plain_losses(nb::module_& m) {
  struct Loss {
    const char* name;
    Tensor (*function)(const Arg&, const Arg&);
    const char *x, *y;  // the parameters
    const char* doc;
  };
  static constexpr Loss losses[] = {
      {"cross_entropy", cross_entropy, "logits", "labels",
       "-log softmax(logits)[label] of each row: logits (N, C), labels (N) int64 -> (N)."},
      {"half_squared_error", half_squared_error, "x", "y", "(x - y)^2 / 2 of each element."},
      {"absolute_error", absolute_error, "x", "y", "|x - y| of each element."},
      {"logistic_loss", logistic_loss, "x", "y",
       "log(1 + e^x) - x y: the cross-entropy of a probability y and sigmoid(x), of each element."},
      {"divergence", divergence, "x", "y", "y (log y - x) of each element, 0 where y is 0."},
  };
  for (const Loss& row : losses) {
    m.def(
        row.name,
        [row = &row](Handle x, Handle y) {
          const Call call(x);
          return call.result(row->function(call.arg(tensor_from(x)), call.arg(tensor_from(y))));
        },
        nb::arg(row.x), nb::arg(row.y), row.doc);
  }
  m.def(
      "huber",
      [](Handle x, Handle delta) {
        const Call call(x);
        const Tensor tensor = tensor_from(x);
        if (is_tensor(delta.ptr()))
          return call.result(huber(call.arg(tensor), call.arg(in_type(call, tensor_in(delta.ptr()), tensor.dtype()))));
        return call.result(huber(
            call.arg(tensor), required_number(number_in(tensor.dtype(), delta.ptr(), call.where()), delta, "delta")));
      },
      nb::arg("x"), nb::arg("delta"), "x^2 / 2, or delta (|x| - delta / 2) where |x| > delta.");
}

}  // namespace

nn::Reduction read_parameter(nb::handle given, const Asked& asked, const nn::Reduction*) {
  for (const NamedReduction& row : reductions) {
    if (nb::isinstance<nb::str>(given) && nb::cast<std::string>(given) == row.name) return row.reduction;
  }
  asked.refuse("'samples', 'none', 'mean' or 'sum'", given);
}
nb::object shown(nn::Reduction value) {
  for (const NamedReduction& row : reductions) {
    if (row.reduction == value) return nb::str(row.name);
  }
  return nb::none();
}
std::optional<std::int64_t> read_parameter(nb::handle given, const Asked& asked, const std::optional<std::int64_t>*) {
  return read_parameter(given, asked, static_cast<const std::int64_t*>(nullptr));
}
Tensor read_parameter(nb::handle given, const Asked&, const Tensor*) { return tensor_from(given); }

void bind_losses(nb::module_& m) {
  bind_plain_losses(m);
  using Common = nn::LossOptions;
  using Binary = nn::BinaryCrossEntropyOptions;
  using Classes = nn::CrossEntropyOptions;
  using Huber = nn::HuberOptions;
  using Nll = nn::NllOptions;
  using Cosine = nn::CosineLossOptions;
  using Similarity = nn::CosineOptions;
  const auto doc = [](const char* computes) { return computes + std::string(reduces); };
  bind_loss<nn::L2Loss, Common, 2>(
      m, {"l2_loss", "L2Loss", {"prediction", "label"}, with_weights<Common>(), doc("(prediction - label)^2 / 2.")},
      nn::l2_loss);
  bind_loss<nn::SquaredError, Common, 2>(m,
                                         {"squared_error",
                                          "SquaredError",
                                          {"prediction", "label"},
                                          with_weights<Common>(),
                                          doc("(prediction - label)^2.")},
                                         nn::squared_error);
  bind_loss<nn::L1Loss, Common, 2>(
      m, {"l1_loss", "L1Loss", {"prediction", "label"}, with_weights<Common>(), doc("|prediction - label|.")},
      nn::l1_loss);
  bind_loss<nn::HuberLoss, Huber, 2>(
      m,
      {"huber_loss",
       "HuberLoss",
       {"prediction", "label"},
       with_weights<Huber>({{"delta", &Huber::delta}}),
       doc("With d = prediction - label: d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2).")},
      nn::huber_loss);
  bind_loss<nn::BinaryCrossEntropy, Binary, 2>(
      m,
      {"binary_cross_entropy",
       "BinaryCrossEntropy",
       {"logits", "labels"},
       with_weights<Binary>({{"positive_weight", &Binary::positive_weight}}),
       doc("-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) of logits x and labels y, which are probabilities, or 0 "
           "and 1. The loss of positive labels is multiplied by `positive_weight`.")},
      nn::binary_cross_entropy);
  bind_loss<nn::KLDivergence, Common, 2>(m,
                                         {"kl_divergence",
                                          "KLDivergence",
                                          {"log_prediction", "probabilities"},
                                          with_weights<Common>(),
                                          doc("p (log p - log_prediction) of probabilities p, 0 where p is 0.")},
                                         nn::kl_divergence);
  bind_loss<nn::SoftmaxCrossEntropy, Classes, 2>(
      m,
      {"softmax_cross_entropy",
       "SoftmaxCrossEntropy",
       {"logits", "labels"},
       {{"class_weight", &Classes::class_weight},
        {"label_smoothing", &Classes::label_smoothing},
        {"ignore_index", &Classes::ignore_index}},
       "-log softmax(logits)[label]: logits (N, C) or (N, C, ...), labels (N) or (N, ...) int64, or probabilities of "
       "the logits' shape.\n\nreduction='samples' gives (N), the means of each sample, 'none' all losses, 'mean' and "
       "'sum' a scalar. `class_weight` (C) has a factor for each class; `label_smoothing` is the share of the label "
       "that is spread over all classes; a label of `ignore_index` does not count."},
      nn::softmax_cross_entropy);
  bind_loss<nn::NLLLoss, Nll, 2>(m,
                                 {"nll_loss",
                                  "NLLLoss",
                                  {"log_probabilities", "labels"},
                                  {{"class_weight", &Nll::class_weight}, {"ignore_index", &Nll::ignore_index}},
                                  "-log_probabilities[label]: softmax_cross_entropy() of what log_softmax() gives."},
                                 nn::nll_loss);
  using Ctc = nn::CtcOptions;
  bind_loss<nn::CTCLoss, Ctc, 4>(
      m,
      {"ctc_loss",
       "CTCLoss",
       {"log_probabilities", "targets", "input_lengths", "target_lengths"},
       {{"blank", &Ctc::blank}, {"zero_infinity", &Ctc::zero_infinity}},
       "Connectionist temporal classification, see ctc(): log_probabilities (T, N, C), targets (N, S), lengths (N)."
       "\n\nreduction='samples' gives (N); 'mean' divides each loss by the length of its target, as PyTorch does. "
       "With zero_infinity a sequence with too few steps counts 0, and has no gradient."},
      nn::ctc_loss);
  m.def(
      "ctc",
      [](Handle log_probabilities, Handle targets, Handle input_lengths, Handle target_lengths, std::int64_t blank) {
        const Call call(log_probabilities);
        return call.result(ctc(call.arg(tensor_from(log_probabilities)), call.arg(tensor_from(targets)),
                               call.arg(tensor_from(input_lengths)), call.arg(tensor_from(target_lengths)), blank));
      },
      nb::arg("log_probabilities"), nb::arg("targets"), nb::arg("input_lengths"), nb::arg("target_lengths"),
      nb::arg("blank") = nn::CtcOptions{}.blank,
      "-log of the probability of targets (N, S) over all alignments with steps of log_probabilities (T, N, C) -> "
      "(N).");
  bind_loss<nn::CosineLoss, Cosine, 3>(m,
                                       {"cosine_loss",
                                        "CosineLoss",
                                        {"x", "y", "labels"},
                                        with_weights<Cosine>({{"margin", &Cosine::margin}}),
                                        doc("With the cosine c of rows x and y (N, C): 1 - c where the label (N) is 1, "
                                            "max(0, c - margin) where it is -1.")},
                                       nn::cosine_loss);
  const auto& similarity = *new LossRow<Similarity, 2>{"cosine_similarity",
                                                       "CosineSimilarity",
                                                       {"x", "y"},
                                                       {{"axis", &Similarity::axis}, {"epsilon", &Similarity::epsilon}},
                                                       "x y / max(|x| |y|, epsilon) along an axis, which is dropped."};
  bind_layer_of<nn::CosineSimilarity>(m, similarity, std::make_index_sequence<2>());
  m.def(
      similarity.name,
      [](Handle x, Handle y, int axis, double epsilon) {
        const Call call(x);
        return call.result(nn::cosine_similarity(call.arg(tensor_from(x)), call.arg(tensor_from(y)),
                                                 {.axis = axis, .epsilon = epsilon}));
      },
      nb::arg("x"), nb::arg("y"), nb::arg("axis") = Similarity{}.axis, nb::arg("epsilon") = Similarity{}.epsilon,
      similarity.doc.c_str());
}

}  // namespace asyncgrad::python
