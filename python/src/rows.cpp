// Conversions of Python's arguments to the library's options.
#include "rows.h"

#include <limits>

#include "conversion.h"
#include "dtypes.h"
#include "errors.h"
#include "initialisers.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

// The activation that is meant by a name or by the function of that name in the module; null for any other object.
Activation known_activation(nb::handle given, const Asked& asked) {
  if (PyUnicode_Check(given.ptr())) return nn::activation_named(asked.owner, nb::cast<std::string>(given));
  const nb::module_ core = nb::module_::import_("asyncgrad._core");
  for (const nn::NamedActivation& row : nn::named_activations()) {
    if (given.is(core.attr(row.name))) return row.function;
  }
  return nullptr;
}

}  // namespace

std::string Asked::text() const { return std::string("[") + owner + "] " + name; }

void Asked::refuse(const char* wanted, nb::handle given) const {
  throw_type_error(text() + " must be " + wanted + ", got " + repr_of(given));
}

double read_parameter(nb::handle given, const Asked& asked, const double*) {
  return float_from(given, asked.text().c_str());
}
bool read_parameter(nb::handle given, const Asked& asked, const bool*) {
  if (!PyBool_Check(given.ptr())) asked.refuse("True or False", given);
  return given.ptr() == Py_True;
}
std::int64_t read_parameter(nb::handle given, const Asked& asked, const std::int64_t*) {
  if (PyIndex_Check(given.ptr()) == 0) asked.refuse("an integer", given);
  return integer_from(given, asked.text().c_str());
}
int read_parameter(nb::handle given, const Asked& asked, const int*) {
  const std::int64_t value = read_parameter(given, asked, static_cast<const std::int64_t*>(nullptr));
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    throw_value_error(asked.text() + " must be in [-2^31, 2^31), got " + repr_of(given));
  }
  return static_cast<int>(value);
}
std::uint64_t read_parameter(nb::handle given, const Asked& asked, const std::uint64_t*) {
  std::uint64_t value = 0;
  if (!nb::try_cast(given, value)) asked.refuse("an integer in [0, 2^64)", given);
  return value;
}
Size2d read_parameter(nb::handle given, const Asked& asked, const Size2d*) {
  constexpr const char* wanted = "an integer or a pair (height, width)";
  const bool is_pair = PyTuple_Check(given.ptr()) != 0 || PyList_Check(given.ptr()) != 0;
  if (!is_pair && PyIndex_Check(given.ptr()) == 0) asked.refuse(wanted, given);
  if (is_pair && nb::len(given) != 2)
    throw_value_error(asked.text() + " must be " + wanted + ", got " + repr_of(given));
  const auto extent = [&](nb::handle one) {
    return read_parameter(one, asked, static_cast<const std::int64_t*>(nullptr));
  };
  if (!is_pair) return extent(given);
  return {extent(given[0]), extent(given[1])};
}
Shape read_parameter(nb::handle given, const Asked& asked, const Shape*) {
  return shape_from(given, asked.text().c_str());
}
DType read_parameter(nb::handle given, const Asked&, const DType*) { return dtype_from(given); }
Device read_parameter(nb::handle given, const Asked&, const Device*) { return device_from(given); }
Generator* read_parameter(nb::handle given, const Asked& asked, Generator* const*) {
  return generator_from(given, asked.owner);
}
Activation read_parameter(nb::handle given, const Asked& asked, const Activation*) {
  if (given.is_none()) return nullptr;
  const Activation function = known_activation(given, asked);
  if (function == nullptr) asked.refuse("the name of a function", given);
  return function;
}
FollowingActivation read_parameter(nb::handle given, const Asked& asked, const FollowingActivation*) {
  if (given.is_none()) return {};
  const Activation function = known_activation(given, asked);
  if (function == nullptr && PyCallable_Check(given.ptr()) == 0) asked.refuse("a name or a function", given);
  return {function};
}
nn::RnnActivation read_parameter(nb::handle given, const Asked& asked, const nn::RnnActivation*) {
  if (!PyUnicode_Check(given.ptr())) asked.refuse("\"tanh\" or \"relu\"", given);
  return nn::rnn_activation_named(nb::cast<std::string>(given));
}
Interpolation read_parameter(nb::handle given, const Asked& asked, const Interpolation*) {
  const std::string name = PyUnicode_Check(given.ptr()) ? nb::cast<std::string>(given) : "";
  if (name != "nearest" && name != "bilinear") asked.refuse("'nearest' or 'bilinear'", given);
  return name == "nearest" ? Interpolation::nearest : Interpolation::bilinear;
}
nn::Initialiser read_parameter(nb::handle given, const Asked& asked, const nn::Initialiser*) {
  nn::Initialiser function = initialiser_from(given);
  if (function == nullptr) asked.refuse("a function of (shape, dtype, device)", given);
  return function;
}
std::vector<Tensor> read_parameter(nb::handle given, const Asked& asked, const std::vector<Tensor>*) {
  if (is_tensor(given.ptr())) return tensors_from(given);  // which refuses it
  if (PyDict_Check(given.ptr()) != 0) throw_type_error(asked.text() + " must be a list of tensors, got a dict");
  std::vector<Tensor> tensors;
  for (const nb::object& item : items_from(given, "tensors")) {
    if (!is_tensor(item.ptr())) {
      throw_type_error(asked.text() + " must be a list of tensors; number " + std::to_string(tensors.size()) +
                       " is of the type " + text_of(item.type().attr("__name__")) +
                       (PyDict_Check(item.ptr()) != 0 ? "; add_group() takes tensors with options of their own" : ""));
    }
    tensors.push_back(tensor_in(item.ptr()));
  }
  return tensors;
}
nb::object read_parameter(nb::handle given, const Asked&, const nb::object*) { return nb::borrow(given); }
optim::Factor read_parameter(nb::handle given, const Asked& asked, const optim::Factor*) {
  if (nb::isinstance<optim::Factor>(given)) return nb::cast<optim::Factor>(given);
  if (PyCallable_Check(given.ptr()) == 0) asked.refuse("a function of the step", given);
  return [given](std::int64_t step) {
    return read_parameter(given(step), {"Schedule", "the factor"}, static_cast<const double*>(nullptr));
  };
}

nb::object shown(double value) { return nb::float_(value); }
nb::object shown(bool value) { return nb::bool_(value); }
nb::object shown(std::int64_t value) { return nb::int_(value); }
nb::object shown(int value) { return nb::int_(value); }
nb::object shown(std::uint64_t value) { return nb::int_(value); }
nb::object shown(const Size2d& value) {
  if (value.height == value.width) return nb::int_(value.height);
  return nb::make_tuple(value.height, value.width);
}
nb::object shown(const Shape& value) {
  if (value.rank() == 1) return nb::int_(value[0]);
  return tuple_of(value);
}
nb::object shown(const std::optional<std::int64_t>& value) { return value ? shown(*value) : nb::none(); }
nb::object shown(DType) { return nb::none(); }
nb::object shown(const Device&) { return nb::none(); }
nb::object shown(const Generator*) { return nb::none(); }
nb::object shown(Activation value) {
  for (const nn::NamedActivation& row : nn::named_activations()) {
    if (row.function == value) return nb::str(row.name);
  }
  return nb::none();
}
nb::object shown(const FollowingActivation& value) { return shown(value.function); }
nb::object shown(Interpolation value) { return nb::str(value == Interpolation::nearest ? "nearest" : "bilinear"); }
nb::object shown(nn::RnnActivation value) { return shown(Activation(value == nn::RnnActivation::relu ? relu : tanh)); }
nb::object shown(const nn::Initialiser& value) { return initialiser_name(value); }

std::vector<nb::object> matched(const char* owner, std::span<const Parameter> parameters, std::size_t positional,
                                const nb::args& args, const nb::kwargs& kwargs) {
  const auto fail = [&](const std::string& text) {
    const std::string all = text_of(parameters);
    throw_type_error(std::string(owner) + " " + text + "; it has " + (all.empty() ? "no parameters" : all));
  };
  if (args.size() > positional) {
    fail("takes " + (positional == 0 ? "no" : "at most " + std::to_string(positional)) +
         (positional == 1 ? " argument" : " arguments") + std::string(" without a name, got ") +
         std::to_string(args.size()));
  }
  std::vector<nb::object> objects(parameters.size());
  for (std::size_t i = 0; i < args.size(); ++i) objects[i] = args[i];
  for (const auto& [key, value] : kwargs) {
    const auto text = nb::cast<std::string>(key);
    std::size_t i = 0;
    while (i < parameters.size() && text != parameters[i].name) ++i;
    if (i == parameters.size()) fail("has no parameter " + text);
    if (objects[i].is_valid()) fail("gets " + text + " twice");
    objects[i] = nb::borrow(value);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!objects[i].is_valid() && !parameters[i].default_value.is_valid())
      fail("needs " + std::string(parameters[i].name));
  }
  return objects;
}

nb::list listed(std::span<const Parameter> parameters) {
  nb::list rows;
  for (const Parameter& row : parameters) {
    if (row.default_value.is_valid()) {
      rows.append(nb::make_tuple(row.name, row.type, row.default_value));
    } else {
      rows.append(nb::make_tuple(row.name, row.type));
    }
  }
  return rows;
}

std::string text_of(std::span<const Parameter> parameters) {
  std::string text;
  for (const Parameter& row : parameters) {
    if (!text.empty()) text += ", ";
    text += row.name;
    if (row.default_value.is_valid()) text.append("=").append(repr_of(row.default_value));
  }
  return text;
}

}  // namespace asyncgrad::python
