// Layers of the library as objects of Python. asyncgrad/nn/layers.py makes Modules of them.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "call.h"
#include "conversion.h"
#include "module.h"
#include "rows.h"

namespace asyncgrad::python {

// A layer of any kind. What it is called with is its class's own.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void members(nn::Members& m) = 0;
};

template <class Kind>
struct Held final : public Layer {
  explicit Held(Kind layer) : layer(std::move(layer)) {}
  void members(nn::Members& m) override {
    if constexpr (requires { layer.members(m); }) layer.members(m);
  }

  Kind layer;
};

template <class Kind>
using LayerClass = nb::class_<Held<Kind>, Layer>;

// Binds a layer that has a row: `make` is called with what a call gives for the row's parameters. A layer of more than
// one tensor gets its `__call__` from the caller.
template <class Kind, class Options, class... Given>
LayerClass<Kind> bind_layer(nb::module_& m, std::type_identity_t<Row<Options, Given...>> given,
                            std::type_identity_t<Kind (*)(const Given&..., const Options&)> make) {
  const auto* const row = new Row<Options, Given...>(std::move(given));  // as long as the module
  LayerClass<Kind> layer(m, std::string("_").append(row->name).c_str(), row->documentation().c_str());
  bind_row(layer, row);
  layer
      .def("__init__",
           [row, make](Held<Kind>* self, const nb::args& args, const nb::kwargs& kwargs) {
             const auto values = row->read(args, kwargs);
             new (self) Held<Kind>(
                 std::apply([&](const auto&... each) { return make(each..., values.options); }, values.given));
           })
      .def("_copy", [](const Held<Kind>& self) { return Held<Kind>(self); });
  if constexpr (std::is_invocable_r_v<Tensor, const Kind&, const Arg&>) {
    layer.def(
        "__call__",
        [](const Held<Kind>& self, nb::handle x) {
          const Call call(x);
          return call.result(self.layer(call.arg(tensor_from(x))));
        },
        nb::arg("x"));
  }
  return layer;
}

void bind_activation_layers(nb::module_& m);
void bind_sequence_layers(nb::module_& m);

}  // namespace asyncgrad::python
