// Optimisers: a row of options each.
#include <nanobind/stl/vector.h>

#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "rows.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

using optim::Optimizer;
using Parameters = std::vector<Tensor>;

template <class Options>
using OptimizerRow = Row<Options, Parameters>;

// As the stubs have it: "def __init__(self, parameters: object, *, lr: float = 0.01) -> None".
template <class Options>
std::string signature(const char* method, const OptimizerRow<Options>& row) {
  std::string text = std::string("def ") + method + "(self, parameters: object, *";
  const std::vector<Parameter> parameters = row.parameters();
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    text += std::string(", ") + parameters[i].name + ": " + parameters[i].type + " = " +
            repr_of(parameters[i].default_value);
  }
  return text + ") -> None";
}

template <class Kind, class Options>
void bind_optimizer(nb::module_& m, OptimizerRow<Options> given) {
  given.given = {"parameters"};
  given.options_by_name = true;
  const auto* const row = new OptimizerRow<Options>(std::move(given));  // as long as the module
  const std::string made = signature("__init__", *row), added = signature("add_group", *row);
  nb::class_<Kind, Optimizer> kind(m, row->name, row->documentation().c_str());
  bind_row(kind, row);
  kind.def(
          "__init__",
          [row](Kind* self, const nb::args& args, const nb::kwargs& kwargs) {
            auto values = row->read(args, kwargs);
            new (self) Kind(std::move(std::get<0>(values.given)), values.options, here());
          },
          nb::sig(made.c_str()), "For a list of tensors; options by name.")
      .def(
          "add_group",
          [row](Kind& self, const nb::args& args, const nb::kwargs& kwargs) {
            auto values = row->read(args, kwargs);
            self.add_group(std::move(std::get<0>(values.given)), values.options, here());
          },
          nb::sig(added.c_str()), "Adds parameters with options of their own.");
}

// The options that Adam and AdamW have in common.
template <class Options>
OptionList<Options> options_of_adam() {
  return {{"lr", &Options::lr},
          {"beta1", &Options::beta1},
          {"beta2", &Options::beta2},
          {"epsilon", &Options::epsilon},
          {"weight_decay", &Options::weight_decay}};
}

void bind_any_optimizer(nb::module_& m) {
  nb::class_<Optimizer>(m, "Optimizer", "What all optimisers have in common.")
      .def(
          "step", [](Optimizer& self) { self.step(here()); },
          "Queues the update of every parameter that has a gradient.")
      .def("zero_grad", &Optimizer::zero_grad, "Drops the gradients.")
      .def_prop_ro("groups", &Optimizer::groups, "The number of groups of parameters.")
      .def_prop_rw(
          "lr", [](const Optimizer& self) { return self.lr(); },
          [](Optimizer& self, double lr) { self.set_lr(lr, here()); },
          "The learning rate of the first group; what is assigned is that of all groups.")
      .def(
          "get_lr", [](const Optimizer& self, std::size_t group) { return self.lr(group); }, nb::arg("group"),
          "The learning rate of one group.")
      .def(
          "set_lr", [](Optimizer& self, std::size_t group, double lr) { self.set_lr(group, lr, here()); },
          nb::arg("group"), nb::arg("lr"), "Sets the learning rate of one group.")
      .def(
          "parameters",
          [](const Optimizer& self, std::size_t group) {
            return Call(tensor_type).results(std::vector<Tensor>(self.parameters(group)));
          },
          nb::arg("group") = 0, "The parameters of a group, in the order in which they were given.")
      .def(
          "missing", [](const Optimizer& self, nb::handle loss) { return self.missing(tensor_in(loss.ptr())); },
          nb::arg("loss"), "What the loss was computed from and the optimiser does not train, as lines of text.");
}

}  // namespace

void bind_optimizers(nb::module_& m) {
  bind_any_optimizer(m);
  using optim::AdadeltaOptions, optim::AdagradOptions, optim::AdamOptions, optim::AdamWOptions, optim::LionOptions,
      optim::RMSpropOptions, optim::SGDOptions;
  bind_optimizer<optim::SGD, SGDOptions>(m, {.name = "SGD",
                                             .doc = "Stochastic gradient descent.",
                                             .options = {{"lr", &SGDOptions::lr},
                                                         {"momentum", &SGDOptions::momentum},
                                                         {"weight_decay", &SGDOptions::weight_decay},
                                                         {"nesterov", &SGDOptions::nesterov}}});
  bind_optimizer<optim::Adam, AdamOptions>(m,
                                           {.name = "Adam", .doc = "Adam.", .options = options_of_adam<AdamOptions>()});
  bind_optimizer<optim::AdamW, AdamWOptions>(m, {.name = "AdamW",
                                                 .doc = "Adam with the decay apart from the gradient.",
                                                 .options = options_of_adam<AdamWOptions>()});
  bind_optimizer<optim::Adagrad, AdagradOptions>(
      m, {.name = "Adagrad",
          .doc = "Adagrad.",
          .options = {{"lr", &AdagradOptions::lr},
                      {"epsilon", &AdagradOptions::epsilon},
                      {"weight_decay", &AdagradOptions::weight_decay},
                      {"initial_accumulator", &AdagradOptions::initial_accumulator}}});
  bind_optimizer<optim::RMSprop, RMSpropOptions>(m, {.name = "RMSprop",
                                                     .doc = "RMSprop.",
                                                     .options = {{"lr", &RMSpropOptions::lr},
                                                                 {"alpha", &RMSpropOptions::alpha},
                                                                 {"epsilon", &RMSpropOptions::epsilon},
                                                                 {"weight_decay", &RMSpropOptions::weight_decay},
                                                                 {"momentum", &RMSpropOptions::momentum},
                                                                 {"centered", &RMSpropOptions::centered}}});
  bind_optimizer<optim::Lion, LionOptions>(m, {.name = "Lion",
                                               .doc = "Lion: every element moves by the learning rate.",
                                               .options = {{"lr", &LionOptions::lr},
                                                           {"beta1", &LionOptions::beta1},
                                                           {"beta2", &LionOptions::beta2},
                                                           {"weight_decay", &LionOptions::weight_decay}}});
  bind_optimizer<optim::Adadelta, AdadeltaOptions>(m, {.name = "Adadelta",
                                                       .doc = "Adadelta: steps of the length of those before.",
                                                       .options = {{"lr", &AdadeltaOptions::lr},
                                                                   {"rho", &AdadeltaOptions::rho},
                                                                   {"epsilon", &AdadeltaOptions::epsilon},
                                                                   {"weight_decay", &AdadeltaOptions::weight_decay}}});
  using optim::WeightAverage;
  nb::class_<WeightAverage>(
      m, "WeightAverage",
      "Averages of parameters beside them, for evaluation: an exponential moving average with the "
      "part `decay` that stays at each update, or with None the mean of all. A Checkpoint keeps it.")
      .def(
          "__init__",
          [](WeightAverage* self, nb::handle parameters, nb::handle decay) {
            optim::WeightAverageOptions options;
            if (!decay.is_none()) options.decay = float_from(decay, "[WeightAverage] decay");
            new (self) WeightAverage(tensors_from(parameters), options, here());
          },
          nb::arg("parameters"), nb::arg("decay") = nb::none())
      .def(
          "update", [](WeightAverage& self) { self.update(here()); }, "Takes the parameters into the averages.")
      .def(
          "swap", [](WeightAverage& self) { waiting([&] { self.swap(here()); }); },
          "Exchanges the values of the parameters and of the averages. Waits for them, and raises their errors before "
          "anything has changed.")
      .def_prop_ro("updates", &WeightAverage::updates, "The number of updates so far.")
      .def_prop_ro(
          "averages",
          [](const WeightAverage& self) { return Call(tensor_type).results(std::vector<Tensor>(self.averages())); },
          "The averages, in the order of the parameters.");
  m.def(
      "clip_norm",
      [](nb::handle parameters, double max_norm) {
        return Call(tensor_type).result(optim::clip_norm(tensors_from(parameters), max_norm, here()));
      },
      nb::arg("parameters"), nb::arg("max_norm"),
      "Scales the gradients, seen as one vector, to a length of at most max_norm; returns the length before.");
}

}  // namespace asyncgrad::python
