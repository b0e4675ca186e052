// The values that an object of the library lists beside tensors, as a dict of Python: get_state() returns it.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/nn/value_text.h"
#include "conversion.h"
#include "errors.h"

namespace asyncgrad::python {

// Calls function(path, pointer, is_not_negative) for each value but generators.
template <class Object, class Function>
void each_value(Object& object, Function function) {
  struct Visitor final : nn::Members::Visitor {
    explicit Visitor(Function& called) : function_(called) {}
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override { call(path, value, false); }
    void not_negative(const std::string& path, nn::Value value) override { call(path, value, true); }
    void call(const std::string& path, nn::Value value, bool is_not_negative) {
      std::visit(
          [&]<class T>(T* held) {
            if constexpr (!std::is_same_v<T, Generator>) function_(path.c_str(), held, is_not_negative);
          },
          value);
    }
    Function& function_;
  } visitor(function);
  nn::Members::visit(object, visitor);
}

// The values by their paths, {"count": 3, "first_rates.0": 0.1}.
template <class Object>
nb::dict values_of(Object& object) {
  nb::dict values;
  each_value(object, [&](const char* path, const auto* held, bool) { values[path] = *held; });
  return values;
}

// Assigns them, or none: throws KeyError if one is missing, TypeError for one of another type, and Error for a
// negative count or rate.
template <class Object>
void assign_values(Object& object, const nb::dict& values) {
  std::vector<std::pair<nn::Value, nn::Contents>> assigned;
  each_value(object, [&]<class T>(const char* path, T* held, bool is_not_negative) {
    if (!values.contains(path)) throw nb::key_error((std::string("[set_state] the state has no ") + path).c_str());
    const nb::object given = values[path];
    T value{};
    if (!nb::try_cast(given, value))
      throw_type_error(std::string("[set_state] ") + path + " cannot be " + repr_of(given));
    if constexpr (std::is_arithmetic_v<T>) {
      if (is_not_negative) check_not_negative("set_state", path, static_cast<double>(value));
    }
    assigned.emplace_back(held, std::move(value));
  });
  for (const auto& [value, contents] : assigned) nn::assign(value, contents);
}

}  // namespace asyncgrad::python
