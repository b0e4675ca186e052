// Layers and trainings in files.
#include <memory>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "asyncgrad/nn/safetensors/file.h"
#include "batches.h"
#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "members.h"
#include "module.h"
#include "tensor.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

using nn::safetensors::Metadata;

// A tree of Python's objects, which lists itself.
struct Node {
  using Value = std::variant<Tensor, std::int64_t, double, bool, std::string, Generator*, optim::Optimizer*,
                             optim::Schedule*, optim::Plateau*, optim::WeightAverage*, PythonBatches*, dist::Parts*,
                             std::unique_ptr<Node>, std::unique_ptr<PythonMember>>;
  std::vector<std::pair<std::string, Value>> entries;
  // If there is one, its set_state() gets the entries, which are counts and rates, once they are loaded.
  nb::object restored;

  // Calls the function with each name and what it stands for.
  template <class Function>
  void for_each(Function&& function) {
    for (auto& [name, value] : entries) {
      std::visit(
          [&function, &name = name]<class T>(T& held) {
            if constexpr (requires { *held; }) {
              function(name, *held);
            } else {
              function(name, held);
            }
          },
          value);
    }
  }
  void members(nn::Members& m) {
    for_each([&]<class T>(const std::string& name, T& held) {
      if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
        if (restored.is_valid()) return m.not_negative(name, held);
      }
      m(name, held);
    });
  }
};

// Makes the tree of a checkpoint's parts, as a file has them.
class TreeOf {
 public:
  explicit TreeOf(const Metadata* in_file = nullptr) : in_file_(in_file) {}

  std::unique_ptr<Node> dict(nb::handle dict, const std::string& path = "", int depth = 0) const {
    if (depth > nn::Members::max_depth) {
      throw_value_error("a checkpoint cannot keep dicts that are nested deeper than " +
                        std::to_string(nn::Members::max_depth) + ", or in a circle");
    }
    auto node = std::make_unique<Node>();
    for (const auto& [key, value] : copy_of(nb::borrow<nb::dict>(dict))) {
      const std::string name = text_of(key);
      node->entries.emplace_back(name, entry(value, path.empty() ? name : path + "." + name, depth));
    }
    return node;
  }

 private:
  Node::Value entry(nb::handle object, const std::string& path, int depth) const {
    if (is_tensor(object.ptr())) return tensor_in(object.ptr());
    if (PyBool_Check(object.ptr())) return nb::cast<bool>(object);
    if (PyLong_Check(object.ptr())) return integer_from(object, "a count");
    if (PyFloat_Check(object.ptr())) return nb::cast<double>(object);
    if (PyUnicode_Check(object.ptr())) return text_of(object);
    if (nb::isinstance<Generator>(object)) return nb::cast<Generator*>(object);
    if (nb::isinstance<optim::Optimizer>(object)) return nb::cast<optim::Optimizer*>(object);
    if (is_module(object)) return std::make_unique<PythonMember>(object);
    if (nb::isinstance<optim::Schedule>(object)) {
      if (has(path + ".first")) return old(object, {{"count", std::int64_t{0}}, {"first", 0.0}});
      return nb::cast<optim::Schedule*>(object);
    }
    if (nb::isinstance<optim::Plateau>(object)) return nb::cast<optim::Plateau*>(object);
    if (nb::isinstance<optim::WeightAverage>(object)) return nb::cast<optim::WeightAverage*>(object);
    if (nb::isinstance<PythonBatches>(object)) {
      if (has(path + ".epoch") && !has(path + ".batch")) return old(object, {{"epoch", std::int64_t{0}}});
      return nb::cast<PythonBatches*>(object);
    }
    if (nb::isinstance<dist::Parts>(object)) return nb::cast<dist::Parts*>(object);
    if (PyDict_Check(object.ptr())) return dict(object, path, depth + 1);
    throw_type_error("a checkpoint cannot keep " + path + ", which is " + repr_of(object));
  }

  bool has(const std::string& path) const { return in_file_ != nullptr && in_file_->contains(path); }

  // The state that version 0.1.0 kept of an object, whose set_state() takes it.
  using Number = std::variant<std::int64_t, double>;
  static std::unique_ptr<Node> old(nb::handle object, const std::vector<std::pair<const char*, Number>>& values) {
    auto node = std::make_unique<Node>();
    for (const auto& [name, value] : values) {
      std::visit([&node, name = name](auto number) { node->entries.emplace_back(name, number); }, value);
    }
    node->restored = nb::borrow(object);
    return node;
  }

  const Metadata* in_file_;
};

nb::dict dict_of(const Node& node) {
  nb::dict dict;
  const Call call(tensor_type);
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
          } else if constexpr (std::is_same_v<T, Tensor>) {
            dict[key] = call.result(Tensor(held));
          }
        },
        value);
  }
  return dict;
}

void restore(const Node& node) {
  if (node.restored.is_valid()) node.restored.attr("set_state")(dict_of(node));
  for (const auto& [name, value] : node.entries) {
    if (const auto* inner = std::get_if<std::unique_ptr<Node>>(&value)) restore(**inner);
  }
}

// The parts at the top of the tree are the checkpoint's.
void add_parts(Checkpoint& checkpoint, Node& tree) {
  tree.for_each([&checkpoint](const std::string& name, auto& held) { checkpoint.add(name, held); });
}

std::vector<std::pair<std::string, Tensor>> named_tensors(nb::handle layer) {
  if (is_module(layer)) return state_of(layer);
  if (PyDict_Check(layer.ptr()) == 0)
    throw_type_error("a file keeps a layer, or a dict of tensors by name, not " + repr_of(layer));
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::unordered_set<std::string> names;
  for (const auto& [key, value] : copy_of(nb::borrow<nb::dict>(layer))) {
    if (!is_tensor(value.ptr()))
      throw_type_error("only tensors can be saved, and " + repr_of(key) + " is " + repr_of(nb::handle(value).type()));
    tensors.emplace_back(text_of(key), tensor_in(value.ptr()));
    if (names.insert(tensors.back().first).second) continue;
    throw_value_error("a file has its names as texts, and two of these keys have the same: " +
                      repr_of(nb::list(layer)));
  }
  return tensors;
}

void check_type(const nn::safetensors::TensorEntry& entry) {
  if (nn::safetensors::held_type(entry.type).has_value()) return;
  throw_type_error("tensors have no type " + entry.type + ", which the file has for " +
                   nn::safetensors::in_quotes(entry.name));
}

// All types are looked at before a value is read.
nb::dict tensors_in_file(nb::handle path) {
  const nn::safetensors::Reader file("load", path_from(path));
  for (const auto& entry : file.header().tensors) check_type(entry);
  const Call call(tensor_type);
  nb::dict tensors;
  for (const auto& entry : file.header().tensors) {
    tensors[nb::str(entry.name.data(), entry.name.size())] = call.result(file.read(entry, default_device()));
  }
  return tensors;
}

nn::LoadOptions load_options(bool strict, nb::handle rename) {
  nn::LoadOptions options{.strict = strict};
  constexpr const char* wanted = "(name in the file, name here) or (…, …, whether to transpose)";
  for (const nb::object& row : items_from(rename, wanted)) {
    const std::vector<nb::object> parts = items_from(row, wanted);
    const bool fits = (parts.size() == 2 || parts.size() == 3) && PyUnicode_Check(parts[0].ptr()) != 0 &&
                      PyUnicode_Check(parts[1].ptr()) != 0 && (parts.size() == 2 || PyBool_Check(parts[2].ptr()) != 0);
    if (!fits) throw_type_error(std::string("rename is a list of ") + wanted + ", and has " + repr_of(row));
    options.rename.push_back({nb::cast<std::string>(parts[0]), nb::cast<std::string>(parts[1]),
                              parts.size() == 3 && parts[2].ptr() == Py_True});
  }
  return options;
}

nb::dict load_checkpoint(nb::handle file, nb::handle parts) {
  const std::string path = path_from(file);
  const Metadata in_file = nn::safetensors::Reader("Checkpoint", path).header().metadata;
  const std::unique_ptr<Node> tree = TreeOf(&in_file).dict(parts);
  Checkpoint checkpoint;
  add_parts(checkpoint, *tree);
  checkpoint.load(path, Location());  // Python's traceback names the line
  restore(*tree);
  return dict_of(*tree);
}

}  // namespace

void bind_files(nb::module_& m) {
  m.attr("_load_strict") = nn::LoadOptions{}.strict;
  m.def(
      "_save",
      [](nb::handle file, nb::handle layer) {
        const std::string path = path_from(file);
        const auto named = named_tensors(layer);
        waiting([&] { nn::save_detail::save(path, named); });
      },
      nb::arg("path").none(), nb::arg("layer").none());
  m.def(
      "_load",
      [](nb::handle file, nb::handle layer, bool strict, nb::handle rename) {
        nn::save_detail::load(path_from(file), named_tensors(layer), load_options(strict, rename));
      },
      nb::arg("path"), nb::arg("layer"), nb::arg("strict"), nb::arg("rename"));
  m.def("_read", &tensors_in_file);
  m.def(
      "_save_checkpoint",
      [](nb::handle file, nb::handle parts) {
        const std::string path = path_from(file);
        const std::unique_ptr<Node> tree = TreeOf().dict(parts);
        Checkpoint checkpoint;
        add_parts(checkpoint, *tree);
        waiting([&] { checkpoint.save(path, Location()); });
      },
      nb::arg("path").none(), nb::arg("parts"));
  m.def("_load_checkpoint", &load_checkpoint);
}

}  // namespace asyncgrad::python
