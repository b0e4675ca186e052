// This file says what is wrong with a call whose arguments do not fit the function: too few, too many, of other names or
// types. nanobind lists signatures and types then. Here the sentence names the function, the parameter and the value, as
// everywhere.
//
// nanobind has no hook for it, so the entry of every function, to which CPython goes by the protocol of vector calls, is
// replaced by one that goes on to nanobind's and looks at its result alone.
#include <array>
#include <span>
#include <string_view>

#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "rows.h"

namespace asyncgrad::python {

namespace {

using Entry = PyObject* (*)(PyObject* function, PyObject* const* arguments, std::size_t count, PyObject* names);

// A function's parameters, read from nanobind's "def take(x: object, indices: object, axis: int = \0) -> Tensor".
struct ReadSignature {
  std::vector<std::string> texts;  // that `parameters` point to; two for each
  std::vector<Parameter> parameters;
  std::size_t positional = 0;  // so many may stand without a name
  bool takes_more = false, takes_other_names = false;
};

// The parts of a text between separators that stand outside brackets and quotes.
std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts{""};
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'') quoted = !quoted;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && !quoted && text.substr(i).starts_with(separator)) {
      parts.emplace_back();
      i += separator.size() - 1;
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// "\0" is the first of the defaults that nanobind lists; other texts are literals.
nb::object default_from(const std::string& text, nb::handle defaults) {
  if (text.starts_with('\\')) return defaults[nb::int_(std::stoi(text.substr(1)))];
  return nb::module_::import_("ast").attr("literal_eval")(text);
}

ReadSignature signature_of(nb::handle function, bool without_self) {
  const nb::tuple overloads = nb::cast<nb::tuple>(function.attr("__nb_signature__"));
  const nb::object last = overloads[nb::len(overloads) - 1];
  const std::string text = text_of(last[nb::int_(0)]);
  const std::size_t begin = text.find('(') + 1, end = text.rfind(") ->");
  ReadSignature read;
  std::vector<nb::object> defaults;
  bool by_name = false;
  for (const std::string& part : split(std::string_view(text).substr(begin, end - begin), ", ")) {
    if (part.empty() || part == "/" || part == "self") continue;
    if (part.starts_with("**")) {
      read.takes_other_names = true;
    } else if (part.starts_with("*")) {
      read.takes_more = part.size() > 1;
      by_name = true;
    } else {
      const std::vector<std::string> halves = split(part, " = "), described = split(halves[0], ": ");
      read.texts.push_back(described[0]);
      read.texts.push_back(described.size() > 1 ? described[1] : "object");
      defaults.push_back(halves.size() > 1 ? default_from(halves[1], last[nb::int_(2)]) : nb::object());
      if (!by_name) ++read.positional;
    }
  }
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    read.parameters.push_back({read.texts[2 * i].c_str(), read.texts[2 * i + 1].c_str(), defaults[i]});
  }
  if (!without_self) {
    read.parameters.insert(read.parameters.begin(), {"self", "object", nb::object()});
    ++read.positional;
  }
  return read;
}

bool is_of_class(nb::handle object, const std::string& name) {
  for (const nb::handle base : object.type().attr("__mro__")) {
    const std::string own = text_of(base.attr("__name__"));
    if (name == own || name == text_of(base.attr("__module__")) + "." + own) return true;
  }
  return false;
}

// Throws if an argument is of another type than the signature says.
void check_type(nb::handle given, const Asked& asked, const std::string& type) {
  if (given.is_none()) {
    if (split(type, " | ").back() != "None") throw_type_error(asked.text() + " must not be None");
    return;
  }
  const std::string asked_type = split(type, " | ").front();
  if (asked_type == "int") read_parameter(given, asked, static_cast<const std::int64_t*>(nullptr));
  if (asked_type == "float") read_parameter(given, asked, static_cast<const double*>(nullptr));
  if (asked_type == "bool") read_parameter(given, asked, static_cast<const bool*>(nullptr));
  if (asked_type == "str" && PyUnicode_Check(given.ptr()) == 0) asked.refuse("a text", given);
  if (asked_type == "collections.abc.Callable" && PyCallable_Check(given.ptr()) == 0) asked.refuse("a function", given);
  if (asked_type == "dict" && PyDict_Check(given.ptr()) == 0) asked.refuse("a dict", given);
  if (asked_type == "list" && PyList_Check(given.ptr()) == 0) asked.refuse("a list", given);
  if (asked_type == "tuple" && PyTuple_Check(given.ptr()) == 0) asked.refuse("a tuple", given);
  if (asked_type.starts_with("asyncgrad.") && !is_of_class(given, asked_type)) {
    const std::string name = asked_type.substr(asked_type.rfind('.') + 1);
    asked.refuse((std::string(name.find_first_of("AEIOU") == 0 ? "an " : "a ") + name).c_str(), given);
  }
}

// The name of the property of a class that the function assigns.
std::string property_of(nb::handle type, nb::handle function) {
  for (const nb::handle base : type.attr("__mro__")) {
    nb::dict attributes;
    attributes.update(base.attr("__dict__"));
    for (const auto& [name, value] : attributes) {
      if (PyObject_TypeCheck(value.ptr(), &PyProperty_Type) != 0 && value.attr("fset").is(function))
        return text_of(name);
    }
  }
  return "value";
}

// Throws the sentence about a call that nanobind has refused.
[[noreturn]] void throw_refusal(nb::handle function, std::span<PyObject* const> given, nb::handle names) {
  std::string owner = text_of(function.attr("__name__"));
  const bool is_method = text_of(nb::handle(function.type()).attr("__name__")) == "nb_method";
  const bool has_self = is_method && given.size() > (names.is_valid() ? nb::len(names) : 0);
  const nb::handle type = has_self ? reinterpret_cast<PyObject*>(Py_TYPE(given[0])) : nullptr;
  if (has_self && owner != "__init__" && nb::inst_check(given[0]) && !nb::inst_ready(given[0])) {
    throw_type_error("an object of the class " + text_of(type.attr("__name__")) +
                     " is used before it is made; __init__() of a derived class calls super().__init__() first");
  }
  const bool is_setter = has_self && owner.empty();
  if (is_setter || (has_self && (owner == "__init__" || owner == "__call__"))) owner = text_of(type.attr("__name__"));
  if (owner.starts_with('_') && !owner.starts_with("__")) owner.erase(0, 1);  // what the package's own functions call
  if (has_self) given = given.subspan(1);
  ReadSignature signature = signature_of(function, !is_method || has_self);
  const std::string property = is_setter ? property_of(type, function) : "";
  if (is_setter) signature.parameters[0].name = property.c_str();

  const std::size_t named = names.is_valid() ? nb::len(names) : 0, unnamed = given.size() - named;
  nb::list first;
  for (std::size_t i = 0; i < unnamed; ++i) {
    if (i < signature.positional || !signature.takes_more) first.append(nb::borrow(given[i]));
  }
  nb::dict others;
  for (std::size_t i = 0; i < named; ++i) {
    const nb::object name = names[nb::int_(i)];
    bool is_known = false;
    for (const Parameter& parameter : signature.parameters) is_known |= text_of(name) == parameter.name;
    if (is_known || !signature.takes_other_names) others[name] = nb::borrow(given[unnamed + i]);
  }
  const std::vector<nb::object> objects =
      matched(owner.c_str(), signature.parameters, signature.positional, nb::borrow<nb::args>(nb::tuple(first)),
              nb::borrow<nb::kwargs>(others));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (objects[i].is_valid()) check_type(objects[i], {owner.c_str(), parameter.name}, parameter.type);
  }
  // An integer that 64 bits hold, but not the 32 of a parameter.
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (!objects[i].is_valid() || std::string_view(parameter.type) != "int") continue;
    read_parameter(objects[i], {owner.c_str(), parameter.name}, static_cast<const int*>(nullptr));
  }
  nb::dict types;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].is_valid()) types[signature.parameters[i].name] = objects[i].type().attr("__name__");
  }
  throw_type_error("[" + owner + "] arguments of the types " + repr_of(types) + " do not fit " + owner + "(" +
                   text_of(signature.parameters) + ")");
}

bool has_part(nb::handle text, const char* part) { return PyUnicode_Contains(text.ptr(), nb::str(part).ptr()) == 1; }

// Whether the error that is set is about arguments, without their names. An error of the program may have any text, or
// none that can be made.
bool is_refusal() {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const nb::object text = nb::steal(type == PyExc_TypeError && value != nullptr ? PyObject_Str(value) : nullptr);
  const bool is_found =
      text.is_valid() && (has_part(text, failed_cast) || has_part(text, "(): incompatible function arguments."));
  PyErr_Restore(type, value, traceback);
  return is_found;
}

void explain(PyObject* function, PyObject* const* arguments, std::size_t count, PyObject* names) noexcept {
  try {
    if (!is_refusal()) return;
    PyErr_Clear();
    const std::size_t named = names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_Size(names));
    // The upper bits of the count are flags.
    throw_refusal(function, {arguments, (count & 0xffffffffU) + named}, names);
  } catch (...) {
    set_python_error();
  }
}

// nanobind's entries, of which there is one for each form of functions, and ours, which go on to them.
constexpr std::size_t most_entries = 8;
std::array<Entry, most_entries> entries{};

template <std::size_t i>
PyObject* enter(PyObject* function, PyObject* const* arguments, std::size_t count, PyObject* names) {
  PyObject* const result = entries[i](function, arguments, count, names);
  if (result == nullptr) [[unlikely]]
    explain(function, arguments, count, names);
  return result;
}

template <std::size_t... i>
constexpr std::array<Entry, sizeof...(i)> own_entries(std::index_sequence<i...>) {
  return {&enter<i>...};
}

Entry own_entry(Entry given) {
  static constexpr auto own = own_entries(std::make_index_sequence<most_entries>());
  for (std::size_t i = 0; i < most_entries; ++i) {
    if (entries[i] == nullptr) entries[i] = given;
    if (entries[i] == given) return own[i];
  }
  return given;
}

// A function keeps its entry behind its head, and shows it as __vectorcalloffset__. Where another nanobind keeps it
// elsewhere, its messages stay.
void replace_entry(nb::handle function) {
  const std::string type = text_of(function.type().attr("__name__"));
  if (type != "nb_func" && type != "nb_method") return;
  constexpr const char* attribute = "__vectorcalloffset__";
  if (!nb::hasattr(function, attribute)) return;
  const auto shown = nb::cast<std::uintptr_t>(function.attr(attribute));
  Entry* const place = reinterpret_cast<Entry*>(reinterpret_cast<PyVarObject*>(function.ptr()) + 1);
  if (reinterpret_cast<std::uintptr_t>(*place) == shown) *place = own_entry(*place);
}

void replace_entries(nb::handle holder) {
  nb::dict attributes;
  attributes.update(holder.attr("__dict__"));
  for (const auto& [name, value] : attributes) {
    replace_entry(value);
    if (PyObject_TypeCheck(value.ptr(), &PyProperty_Type) != 0) {
      replace_entry(value.attr("fget"));
      replace_entry(value.attr("fset"));
    }
    if (PyType_Check(value.ptr()) != 0 && nb::type_check(value)) replace_entries(value);
  }
}

}  // namespace

void bind_refused_calls(nb::module_& m) { replace_entries(m); }

}  // namespace asyncgrad::python
