// The values that an object of the library lists beside tensors, as a dict of Python: get_state() returns it.
#pragma once

#include <string>

#include "binding.h"

namespace asyncgrad::python {

// Calls function(path, pointer) for each value but generators.
template <class Object, class Function>
void each_value(Object& object, Function function) {
  struct Visitor final : nn::Members::Visitor {
    explicit Visitor(Function& called) : function_(called) {}
    void layer(const std::string&, const std::string&) override {}
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override {
      std::visit(
          [&]<class T>(T* held) {
            if constexpr (!std::is_same_v<T, Generator>) function_(path.c_str(), held);
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
  each_value(object, [&](const char* path, const auto* held) { values[path] = *held; });
  return values;
}

// Assigns them. Throws KeyError if one is missing.
template <class Object>
void assign_values(Object& object, const nb::dict& values) {
  each_value(object, [&]<class T>(const char* path, T* held) { *held = nb::cast<T>(values[path]); });
}

}  // namespace asyncgrad::python
