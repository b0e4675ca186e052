// Optimisers, files of layers, checkpoints and initial values.
#include <nanobind/stl/vector.h>

#include <memory>
#include <string_view>
#include <variant>

#include "asyncgrad/data/order.h"
#include "asyncgrad/nn/safetensors/file.h"
#include "binding.h"

namespace asyncgrad::python {

namespace {

using optim::Optimizer;

// --- Optimisers: one row of options each.

template <class Kind, class Options>
struct Row {
  const char* name;
  const char* doc;
  std::vector<std::pair<const char*, double Options::*>> numbers;
  std::vector<std::pair<const char*, bool Options::*>> flags;

  Options read(const nb::kwargs& given) const {
    Options options;
    for (const auto& [key, value] : given) {
      const auto text = nb::cast<std::string>(key);
      bool is_known = false;
      for (const auto& [option, member] : numbers) {
        if (text != option) continue;
        options.*member = nb::cast<double>(nb::float_(value));
        is_known = true;
      }
      for (const auto& [option, member] : flags) {
        if (text != option) continue;
        options.*member = nb::cast<bool>(value);
        is_known = true;
      }
      if (!is_known) throw_type_error(std::string(name) + " has no option " + text);
    }
    return options;
  }
};

// The options that Adam and AdamW have in common.
template <class Options>
std::vector<std::pair<const char*, double Options::*>> numbers_of_adam() {
  return {{"lr", &Options::lr},
          {"beta1", &Options::beta1},
          {"beta2", &Options::beta2},
          {"epsilon", &Options::epsilon},
          {"weight_decay", &Options::weight_decay}};
}

template <class Kind, class Options>
void bind_optimizer(nb::module_& m, Row<Kind, Options> given) {
  const auto* const row = new Row<Kind, Options>(std::move(given));  // as long as the module
  nb::class_<Kind, Optimizer>(m, row->name, row->doc)
      .def(
          "__init__",
          [row](Kind* self, nb::handle parameters, const nb::kwargs& options) {
            new (self) Kind(tensors_from(parameters), row->read(options), here());
          },
          nb::arg("parameters"), nb::arg("options"), "For a list of tensors, or of groups of them; options by name.")
      .def(
          "add_group",
          [row](Kind& self, nb::handle parameters, const nb::kwargs& options) {
            self.add_group(tensors_from(parameters), row->read(options), here());
          },
          nb::arg("parameters"), nb::arg("options"), "Adds parameters with options of their own.");
}

void bind_optimizers(nb::module_& m) {
  nb::class_<Optimizer>(m, "Optimizer", "What all optimisers have in common.")
      .def(
          "step", [](Optimizer& self) { self.step(here()); },
          "Queues the update of every parameter that has a gradient.")
      .def("zero_grad", &Optimizer::zero_grad, "Drops the gradients.")
      .def_prop_ro("groups", &Optimizer::groups, "The number of groups of parameters.")
      .def_prop_rw(
          "lr", [](const Optimizer& self) { return self.lr(); },
          [](Optimizer& self, double lr) { self.set_lr(lr, here()); }, "The learning rate, of all groups.")
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
  using optim::AdagradOptions, optim::AdamOptions, optim::AdamWOptions, optim::RMSpropOptions, optim::SGDOptions;
  bind_optimizer<optim::SGD, SGDOptions>(
      m, {"SGD",
          "Stochastic gradient descent. Options: lr = 0.01, momentum = 0, weight_decay = 0, nesterov = False.",
          {{"lr", &SGDOptions::lr}, {"momentum", &SGDOptions::momentum}, {"weight_decay", &SGDOptions::weight_decay}},
          {{"nesterov", &SGDOptions::nesterov}}});
  bind_optimizer<optim::Adam, AdamOptions>(
      m, {"Adam",
          "Adam. Options: lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.",
          numbers_of_adam<AdamOptions>(),
          {}});
  bind_optimizer<optim::AdamW, AdamWOptions>(
      m, {"AdamW",
          "Adam with the decay apart from the gradient. Options as Adam's, weight_decay = 0.01.",
          numbers_of_adam<AdamWOptions>(),
          {}});
  bind_optimizer<optim::Adagrad, AdagradOptions>(
      m, {"Adagrad",
          "Adagrad. Options: lr = 0.01, epsilon = 1e-10, weight_decay = 0, initial_accumulator = 0.",
          {{"lr", &AdagradOptions::lr},
           {"epsilon", &AdagradOptions::epsilon},
           {"weight_decay", &AdagradOptions::weight_decay},
           {"initial_accumulator", &AdagradOptions::initial_accumulator}},
          {}});
  bind_optimizer<optim::RMSprop, RMSpropOptions>(
      m,
      {"RMSprop",
       "RMSprop. Options: lr = 0.01, alpha = 0.99, epsilon = 1e-8, weight_decay = 0, momentum = 0, centered = False.",
       {{"lr", &RMSpropOptions::lr},
        {"alpha", &RMSpropOptions::alpha},
        {"epsilon", &RMSpropOptions::epsilon},
        {"weight_decay", &RMSpropOptions::weight_decay},
        {"momentum", &RMSpropOptions::momentum}},
       {{"centered", &RMSpropOptions::centered}}});
  m.def(
      "clip_norm",
      [](nb::handle parameters, double max_norm) {
        return Call(tensor_type).result(optim::clip_norm(tensors_from(parameters), max_norm, here()));
      },
      nb::arg("parameters"), nb::arg("max_norm"),
      "Scales the gradients, seen as one vector, to a length of at most max_norm; returns the length before.");
}

// --- Checkpoints: a tree of what Python has, which lists itself.

struct Node {
  using Value =
      std::variant<Tensor, std::int64_t, double, bool, std::string, Generator*, Optimizer*, std::unique_ptr<Node>>;
  std::vector<std::pair<std::string, Value>> entries;

  // Calls the function with each name and what it stands for.
  template <class Function>
  void for_each(Function&& function) {
    for (auto& [name, value] : entries) {
      std::visit(
          [&function, &name = name]<class T>(T& held) {
            if constexpr (std::is_same_v<T, Generator*> || std::is_same_v<T, Optimizer*> ||
                          std::is_same_v<T, std::unique_ptr<Node>>) {
              function(name, *held);
            } else {
              function(name, held);
            }
          },
          value);
    }
  }
  void members(nn::Members& m) {
    for_each([&m](const std::string& name, auto& held) { m(name, held); });
  }
};

std::unique_ptr<Node> node_of(nb::handle dict);

Node::Value value_of(nb::handle object, const std::string& name) {
  if (is_tensor(object.ptr())) return tensor_in(object.ptr());
  if (PyBool_Check(object.ptr())) return nb::cast<bool>(object);
  if (PyLong_Check(object.ptr())) return integer_from(object, "a count");
  if (PyFloat_Check(object.ptr())) return nb::cast<double>(object);
  if (PyUnicode_Check(object.ptr())) return nb::cast<std::string>(object);
  if (nb::isinstance<Generator>(object)) return nb::cast<Generator*>(object);
  if (nb::isinstance<Optimizer>(object)) return nb::cast<Optimizer*>(object);
  if (PyDict_Check(object.ptr())) return node_of(object);
  throw_type_error("a checkpoint cannot keep " + name + ", which is " +
                   nb::cast<std::string>(nb::str(nb::repr(object))));
}

std::unique_ptr<Node> node_of(nb::handle dict) {
  auto node = std::make_unique<Node>();
  for (const auto& [key, value] : nb::borrow<nb::dict>(dict)) {
    const auto name = nb::cast<std::string>(nb::str(key));
    node->entries.emplace_back(name, value_of(value, name));
  }
  return node;
}

nb::dict dict_of(const Node& node) {
  nb::dict dict;
  for (const auto& [name, value] : node.entries) {
    const nb::str key(name.data(), name.size());
    std::visit(
        [&]<class T>(const T& held) {
          if constexpr (std::is_same_v<T, std::unique_ptr<Node>>) {
            dict[key] = dict_of(*held);
          } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                               std::is_same_v<T, bool>) {
            dict[key] = held;
          } else if constexpr (std::is_same_v<T, std::string>) {
            dict[key] = nb::str(held.data(), held.size());
          }
        },
        value);
  }
  return dict;
}

// The parts at the top of the tree are the checkpoint's.
void add_parts(Checkpoint& checkpoint, Node& tree) {
  tree.for_each([&checkpoint](const std::string& name, auto& held) { checkpoint.add(name, held); });
}

std::vector<std::pair<std::string, Tensor>> named_tensors(nb::handle dict) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [key, value] : nb::borrow<nb::dict>(dict)) {
    if (!is_tensor(value.ptr())) throw_type_error("only tensors can be saved");
    tensors.emplace_back(nb::cast<std::string>(nb::str(key)), tensor_in(value.ptr()));
  }
  return tensors;
}

DType type_in_file(const nn::safetensors::TensorEntry& entry) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (entry.type == std::string_view(nn::safetensors::type_name(dtype))) return dtype;
  }
  throw_type_error("tensors have no type " + entry.type + ", which the file has for " +
                   nn::safetensors::in_quotes(entry.name));
}

// All types are looked at before a value is read.
nb::dict tensors_in_file(const std::string& path) {
  const nn::safetensors::Reader file("load", path);
  std::vector<DType> types;
  for (const auto& entry : file.header().tensors) types.push_back(type_in_file(entry));
  const Call call(tensor_type);
  nb::dict tensors;
  auto type = types.begin();
  for (const auto& entry : file.header().tensors) {
    tensors[nb::str(entry.name.data(), entry.name.size())] = call.result(file.read(entry, *type++, default_device()));
  }
  return tensors;
}

void bind_files(nb::module_& m) {
  m.def("_save", [](const std::string& path, nb::handle tensors) {
    const auto named = named_tensors(tensors);
    waiting([&] { nn::save_detail::save(path, named); });
  });
  m.def("_load", [](const std::string& path, nb::handle tensors, bool strict, nb::handle rename) {
    nn::LoadOptions options{.strict = strict, .rename = {}};
    for (const nb::handle row : rename) {
      options.rename.push_back(
          {nb::cast<std::string>(row[0]), nb::cast<std::string>(row[1]), nb::len(row) > 2 && nb::cast<bool>(row[2])});
    }
    nn::save_detail::load(path, named_tensors(tensors), options);
  });
  m.def("_read", &tensors_in_file);
  m.def("_save_checkpoint", [](const std::string& path, nb::handle parts) {
    const std::unique_ptr<Node> tree = node_of(parts);
    Checkpoint checkpoint;
    add_parts(checkpoint, *tree);
    waiting([&] { checkpoint.save(path, Location()); });  // Python's traceback names the line
  });
  m.def("_load_checkpoint", [](const std::string& path, nb::handle parts) {
    const std::unique_ptr<Node> tree = node_of(parts);
    Checkpoint checkpoint;
    add_parts(checkpoint, *tree);
    checkpoint.load(path, Location());
    return dict_of(*tree);
  });
  m.def("_shuffled", &data::shuffled);
}

// --- Initial values.

struct InitialRow {
  const char* name;
  nn::Initialiser function;
  const char* doc;
};
constexpr InitialRow initial[] = {
    {"xavier_uniform", nn::xavier_uniform,
     "Uniform in [-b, b], b = sqrt(6 / (inputs + outputs)): Glorot and Bengio 2010."},
    {"xavier_normal", nn::xavier_normal, "N(0, 2 / (inputs + outputs)): Glorot and Bengio 2010."},
    {"he_uniform", nn::he_uniform, "Uniform in [-b, b], b = sqrt(6 / inputs), for layers with relu: He et al. 2015."},
    {"he_normal", nn::he_normal, "N(0, 2 / inputs), for layers with relu: He et al. 2015."}};

}  // namespace

void bind_training(nb::module_& m) {
  bind_optimizers(m);
  bind_files(m);
  for (const InitialRow& row : initial) {
    m.def(
        row.name,
        [row = &row](nb::handle shape, nb::handle dtype, nb::handle device, Generator* generator) {
          const Call call(tensor_type);
          return call.result(row->function(shape_from(shape),
                                           {.dtype = dtype.is_none() ? float32 : dtype_from(dtype),
                                            .device = device_or_default(device),
                                            .generator = generator},
                                           call.where()));
        },
        nb::arg("shape"), nb::arg("dtype").none(), nb::arg("device").none(), nb::arg("generator"), row.doc);
  }
  m.def(
      "missing_leaves",
      [](nb::handle y, nb::handle known) { return missing_leaves(tensor_in(y.ptr()), tensors_from(known)); },
      nb::arg("y"), nb::arg("known"), "The leaves that y was computed from and that are not among `known`.");
}

}  // namespace asyncgrad::python
