// Classes of the library that are made of options. A row says what the parameters are called; what they are unless they
// are given is read from the library's own struct of options.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "conversion.h"

namespace asyncgrad::python {

// A parameter that is being read, for messages.
struct Asked {
  const char* owner;  // "Dense"
  const char* name;   // "in_features"

  std::string text() const;  // "[Dense] in_features"
  // "[Dense] in_features must be an integer, got 'a'"
  [[noreturn]] void refuse(const char* wanted, nb::handle given) const;
};

// An activation that follows a layer: one of the library's, or a function of Python, which Python applies.
struct FollowingActivation {
  Activation function = nullptr;
};

// Converts a parameter of type T from Python, and shows a value of it in a signature.
double read_parameter(nb::handle given, const Asked& asked, const double*);
bool read_parameter(nb::handle given, const Asked& asked, const bool*);
std::int64_t read_parameter(nb::handle given, const Asked& asked, const std::int64_t*);
int read_parameter(nb::handle given, const Asked& asked, const int*);
std::uint64_t read_parameter(nb::handle given, const Asked& asked, const std::uint64_t*);
Size2d read_parameter(nb::handle given, const Asked& asked, const Size2d*);
Shape read_parameter(nb::handle given, const Asked& asked, const Shape*);
DType read_parameter(nb::handle given, const Asked& asked, const DType*);
Device read_parameter(nb::handle given, const Asked& asked, const Device*);
inline std::uint64_t seed_from(nb::handle given, const char* function) {
  return read_parameter(given, {function, "seed"}, static_cast<const std::uint64_t*>(nullptr));
}
Generator* read_parameter(nb::handle given, const Asked& asked, Generator* const*);
Activation read_parameter(nb::handle given, const Asked& asked, const Activation*);
FollowingActivation read_parameter(nb::handle given, const Asked& asked, const FollowingActivation*);
nn::RnnActivation read_parameter(nb::handle given, const Asked& asked, const nn::RnnActivation*);
Interpolation read_parameter(nb::handle given, const Asked& asked, const Interpolation*);
nn::Reduction read_parameter(nb::handle given, const Asked& asked, const nn::Reduction*);
std::optional<std::int64_t> read_parameter(nb::handle given, const Asked& asked, const std::optional<std::int64_t>*);
Tensor read_parameter(nb::handle given, const Asked& asked, const Tensor*);
nn::Initialiser read_parameter(nb::handle given, const Asked& asked, const nn::Initialiser*);
std::vector<Tensor> read_parameter(nb::handle given, const Asked& asked, const std::vector<Tensor>*);
nb::object read_parameter(nb::handle given, const Asked& asked, const nb::object*);
// These two borrow a function of Python, which the caller keeps.
optim::Factor read_parameter(nb::handle given, const Asked& asked, const optim::Factor*);
data::Sampler read_parameter(nb::handle given, const Asked& asked, const data::Sampler*);
data::Share read_parameter(nb::handle given, const Asked& asked, const data::Share*);
// A number or a pair (height, width).
inline Size2d size_from(nb::handle given, const char* function, const char* name) {
  return read_parameter(given, {function, name}, static_cast<const Size2d*>(nullptr));
}

nb::object shown(double value);
nb::object shown(bool value);
nb::object shown(std::int64_t value);
nb::object shown(int value);
nb::object shown(std::uint64_t value);
nb::object shown(const Size2d& value);
nb::object shown(const Shape& value);
nb::object shown(const std::optional<std::int64_t>& value);
nb::object shown(DType);  // None, as for the next two: the library's default at the call
nb::object shown(const Device&);
nb::object shown(const Generator*);
nb::object shown(Activation value);
nb::object shown(const FollowingActivation& value);
nb::object shown(nn::RnnActivation value);
nb::object shown(Interpolation value);
nb::object shown(nn::Reduction value);
nb::object shown(const nn::Initialiser& value);
nb::object shown(const data::Share& value);
template <class T>
nb::object shown(const T&) {
  return nb::none();
}

template <class T>
constexpr const char* type_text() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_integral_v<T>) return "int";
  return std::is_floating_point_v<T> ? "float" : "object";
}

// The part of a signature that describes a parameter.
struct Parameter {
  const char* name;
  const char* type;
  nb::object default_value;  // invalid: it must be given
};

// The objects that a call gives for the parameters, in their order; invalid for those that it does not give. Only the
// first `positional` may be given without a name. Throws TypeError for a call that does not fit.
std::vector<nb::object> matched(const char* owner, std::span<const Parameter> parameters, std::size_t positional,
                                const nb::args& args, const nb::kwargs& kwargs);
// [(name, type), (name, type, default), ...], from which Python makes a signature.
nb::list listed(std::span<const Parameter> parameters);
// "a, b, c=1"
std::string text_of(std::span<const Parameter> parameters);

// A field of a struct of options.
template <class Options>
struct Option {
  // NOLINTNEXTLINE(google-explicit-constructor): rows are lists of {name, member}
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Option(const char* name, T Owner::*member)
      : name(name),
        type(type_text<T>()),
        read([member](Options& options, nb::handle given, const Asked& asked) {
          options.*member = read_parameter(given, asked, static_cast<const T*>(nullptr));
        }),
        value_in([member](const Options& options) { return shown(options.*member); }),
        may_be_none(std::is_same_v<T, Size2d>) {}

  const char* name;
  const char* type;
  std::function<void(Options&, nb::handle, const Asked&)> read;
  std::function<nb::object(const Options&)> value_in;  // as a signature shows it
  bool may_be_none;
};

template <class Options>
using OptionList = std::vector<Option<Options>>;

// The options that layers have in common, as far as this one has them: they come last.
template <class Options>
OptionList<Options> with_common(OptionList<Options> options) {
  if constexpr (requires { &Options::initialiser; }) options.emplace_back("initialiser", &Options::initialiser);
  if constexpr (requires { &Options::dtype; }) options.emplace_back("dtype", &Options::dtype);
  if constexpr (requires { &Options::device; }) options.emplace_back("device", &Options::device);
  if constexpr (requires { &Options::generator; }) options.emplace_back("generator", &Options::generator);
  return options;
}

struct NoOptions {};

// The parameters of a class: those that stand on their own, the first `required` of which have no default, then
// options.
template <class Options, class... Given>
struct Row {
  const char* name;
  const char* doc;
  std::array<const char*, sizeof...(Given)> given{};
  std::size_t required = sizeof...(Given);
  std::tuple<Given...> defaults{};
  OptionList<Options> options{};
  bool options_by_name = false;  // alone

  struct Values {
    std::tuple<Given...> given;
    Options options;
  };

  std::vector<Parameter> parameters() const {
    std::vector<Parameter> all;
    std::apply(
        [&](const auto&... value) {
          std::size_t i = 0;
          ((all.push_back(
                {given[i], type_text<std::decay_t<decltype(value)>>(), i < required ? nb::object() : shown(value)}),
            ++i),
           ...);
        },
        defaults);
    const Options unchanged;
    for (const auto& option : options) all.push_back({option.name, option.type, option.value_in(unchanged)});
    return all;
  }

  std::vector<nb::object> matched(const nb::args& args, const nb::kwargs& kwargs) const {
    return python::matched(name, parameters(), options_by_name ? sizeof...(Given) : sizeof...(Given) + options.size(),
                           args, kwargs);
  }

  Values read(const nb::args& args, const nb::kwargs& kwargs) const {
    const std::vector<nb::object> objects = matched(args, kwargs);
    Values values{defaults, Options{}};
    std::size_t i = 0;
    const auto read_given = [&]<class T>(T& value) {
      if (objects[i].is_valid()) {
        value = read_parameter(objects[i], {name, given[i]}, static_cast<const T*>(nullptr));
      }
      ++i;
    };
    std::apply([&](auto&... value) { (read_given(value), ...); }, values.given);
    for (const auto& option : options) {
      const nb::object& object = objects[i++];
      if (!object.is_valid()) continue;
      const bool stands_for_default = object.is_none() && (option.may_be_none || option.value_in({}).is_none());
      if (!stands_for_default) option.read(values.options, object, {name, option.name});
    }
    return values;
  }

  // The arguments of a call by their names.
  nb::dict named(const nb::args& args, const nb::kwargs& kwargs) const {
    const std::vector<Parameter> all = parameters();
    const std::vector<nb::object> objects = matched(args, kwargs);
    nb::dict named;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (objects[i].is_valid()) named[all[i].name] = objects[i];
    }
    return named;
  }

  // What these arguments make of the parameters, by their names: of those that stand on their own, and of the options
  // that differ from their defaults. What no signature can show is left out.
  nb::dict chosen(const nb::kwargs& kwargs) const {
    const Values values = read(nb::borrow<nb::args>(nb::make_tuple()), kwargs);
    nb::dict chosen;
    const auto add = [&](const char* name, const nb::object& value, const nb::object& usual) {
      if (!value.is_none() && (usual.is_none() || !value.equal(usual))) chosen[name] = value;
    };
    std::apply(
        [&, i = std::size_t{0}](const auto&... value) mutable { (add(given[i++], shown(value), nb::none()), ...); },
        values.given);
    const Options unchanged;
    for (const auto& option : options) add(option.name, option.value_in(values.options), option.value_in(unchanged));
    return chosen;
  }

  std::string documentation() const {
    const std::string text = text_of(parameters());
    return text.empty() ? doc : std::string(doc) + "\n\nParameters: " + text + ".";
  }
};

// The functions that Python needs for every class with a row: its signature, a check of arguments, and what they choose.
template <class Class, class Options, class... Given>
void bind_row(Class& c, const Row<Options, Given...>* row) {
  c.attr("_parameters") = listed(row->parameters());
  c.attr("_options_by_name") = row->options_by_name;
  c.def_static("_named", [row](const nb::args& args, const nb::kwargs& kwargs) { return row->named(args, kwargs); });
  c.def_static("_chosen", [row](const nb::kwargs& kwargs) { return row->chosen(kwargs); });
}

}  // namespace asyncgrad::python
