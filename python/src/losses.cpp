// Losses: a row each. Their options are those of C++.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "functions.h"
#include "rows.h"

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

// A loss of some tensors, which come first, and its options. The row lives as long as the process.
template <class Options, std::size_t... I>
void bind_row_of_loss(nb::module_& m, const char* name, auto* function, std::array<const char*, sizeof...(I)> given,
                      OptionList<Options> options, const char* doc, std::index_sequence<I...>) {
  options.insert(options.begin(), {"reduction", &Options::reduction});
  const auto* const row = new Row<Options, AnyObject<I>...>{
      .name = name, .doc = doc, .given = given, .options = std::move(options), .options_by_name = true};
  const std::string signature = std::string("def ") + name + "(" + text_of(row->parameters()) + ") -> Tensor";
  const auto loss = [function](const auto& tensors, const Options& chosen) {
    const Call call(tensors[0]);
    return call.result(function(call.arg(tensor_from(tensors[I]))..., chosen));
  };
  m.def(
      name,
      [row, loss](const nb::args& args, const nb::kwargs& kwargs) {
        // Most calls have no options: they are not read one by one.
        if (args.size() == sizeof...(I) && kwargs.size() == 0) return loss(args, {});
        const auto values = row->read(args, kwargs);
        return loss(std::array<nb::object, sizeof...(I)>{std::get<I>(values.given)...}, values.options);
      },
      nb::sig(signature.c_str()), doc);
}
template <class Options, std::size_t count>
void bind_loss(nb::module_& m, const char* name, auto* function, const std::array<const char*, count>& given,
               OptionList<Options> options, const std::string& doc) {
  bind_row_of_loss<Options>(m, name, function, given, std::move(options), doc.c_str(),
                            std::make_index_sequence<count>());
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
  using Common = nn::LossOptions;
  using Binary = nn::BinaryCrossEntropyOptions;
  using Classes = nn::CrossEntropyOptions;
  const std::array<const char*, 2> usual{"prediction", "label"};
  const auto doc = [](const char* computes) { return computes + std::string(reduces); };
  const auto common = [&](const char* name, auto* function, const char* computes) {
    bind_loss<Common>(m, name, function, usual, with_weights<Common>(), doc(computes));
  };
  common("l2_loss", nn::l2_loss, "(prediction - label)^2 / 2.");
  common("squared_error", nn::squared_error, "(prediction - label)^2.");
  common("l1_loss", nn::l1_loss, "|prediction - label|.");
  bind_loss<nn::HuberOptions>(m, "huber_loss", nn::huber_loss, usual,
                              with_weights<nn::HuberOptions>({{"delta", &nn::HuberOptions::delta}}),
                              doc("With d = prediction - label: d^2 / 2 where |d| <= delta, else delta (|d| - delta / "
                                  "2)."));
  bind_loss<Binary>(m, "binary_cross_entropy", nn::binary_cross_entropy, std::array{"logits", "labels"},
                    with_weights<Binary>({{"positive_weight", &Binary::positive_weight}}),
                    doc("-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) of logits x and labels y, which are "
                        "probabilities, or 0 and 1. The loss of positive labels is multiplied by `positive_weight`."));
  bind_loss<Common>(m, "kl_divergence", nn::kl_divergence, std::array{"log_prediction", "probabilities"},
                    with_weights<Common>(), doc("p (log p - log_prediction) of probabilities p, 0 where p is 0."));
  bind_loss<Classes>(
      m, "softmax_cross_entropy", nn::softmax_cross_entropy, std::array{"logits", "labels"},
      {{"class_weight", &Classes::class_weight},
       {"label_smoothing", &Classes::label_smoothing},
       {"ignore_index", &Classes::ignore_index}},
      "-log softmax(logits)[label]: logits (N, C) or (N, C, ...), labels (N) or (N, ...) int64, or probabilities of "
      "the logits' shape.\n\nreduction='samples' gives (N), the means of each sample, 'none' all losses, 'mean' and "
      "'sum' "
      "a scalar. `class_weight` (C) has a factor for each class; `label_smoothing` is the share of the label that is "
      "spread over all classes; a label of `ignore_index` does not count.");
  using Nll = nn::NllOptions;
  bind_loss<Nll>(m, "nll_loss", nn::nll_loss, std::array{"log_probabilities", "labels"},
                 {{"class_weight", &Nll::class_weight}, {"ignore_index", &Nll::ignore_index}},
                 "-log_probabilities[label]: softmax_cross_entropy() of what log_softmax() gives.");
  using Cosine = nn::CosineLossOptions;
  const auto with_number = [](Handle x, Handle y, int axis, double epsilon) {
    const Call call(x);
    return call.result(
        nn::cosine_similarity(call.arg(tensor_from(x)), call.arg(tensor_from(y)), {.axis = axis, .epsilon = epsilon}));
  };
  m.def("cosine_similarity", with_number, nb::arg("x"), nb::arg("y"), nb::arg("axis") = nn::CosineOptions{}.axis,
        nb::arg("epsilon") = nn::CosineOptions{}.epsilon,
        "x y / max(|x| |y|, epsilon) along an axis, which is dropped.");
  bind_loss<Cosine>(m, "cosine_loss", nn::cosine_loss, std::array{"x", "y", "labels"},
                    with_weights<Cosine>({{"margin", &Cosine::margin}}),
                    doc("With the cosine c of rows x and y (N, C): 1 - c where the label (N) is 1, max(0, c - margin) "
                        "where it is -1."));
}

}  // namespace asyncgrad::python
