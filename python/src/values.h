// The values that an object of the library lists beside tensors, as a dict of Python: get_state() returns it.
#pragma once

#include <string>

#include "binding.h"

namespace asyncgrad::python {

// The values by their paths, {"count": 3, "first_rates.0": 0.1}.
template <class Object>
nb::dict values_of(Object& object) {
  struct Read final : nn::Members::Visitor {
    void layer(const std::string&, const std::string&) override {}
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override {
      std::visit(
          [&]<class T>(T* held) {
            if constexpr (!std::is_same_v<T, Generator>) values[path.c_str()] = *held;
          },
          value);
    }
    nb::dict values;
  } visitor;
  nn::Members::visit(object, visitor);
  return visitor.values;
}

// Assigns them. Throws KeyError if one is missing.
template <class Object>
void assign_values(Object& object, const nb::dict& values) {
  struct Write final : nn::Members::Visitor {
    explicit Write(nb::dict values) : values(std::move(values)) {}
    void layer(const std::string&, const std::string&) override {}
    void tensor(const std::string&, Tensor&) override {}
    void value(const std::string& path, nn::Value value) override {
      std::visit(
          [&]<class T>(T* held) {
            if constexpr (!std::is_same_v<T, Generator>) *held = nb::cast<T>(values[path.c_str()]);
          },
          value);
    }
    nb::dict values;
  } visitor(values);
  nn::Members::visit(object, visitor);
}

}  // namespace asyncgrad::python
