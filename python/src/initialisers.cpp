// Initial values of parameters: a row for each that weights may have, and functions that make others.
#include "initialisers.h"

#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "functions.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

using Function = Tensor (*)(const Shape&, RandomOptions, Location);

struct InitialRow {
  const char* name;
  Function function;
  const char* doc;
};
constexpr InitialRow rows[] = {
    {"xavier_uniform", nn::xavier_uniform,
     "Uniform in [-a, a], a = sqrt(6 / (fan_in + fan_out)), for a shape (fan_in, fan_out): Glorot and Bengio 2010."},
    {"xavier_normal", nn::xavier_normal, "N(0, 2 / (fan_in + fan_out)): Glorot and Bengio 2010."},
    {"he_uniform", nn::he_uniform, "Uniform in [-a, a], a = sqrt(6 / fan_in), for layers with relu: He et al. 2015."},
    {"he_normal", nn::he_normal, "N(0, 2 / fan_in), for layers with relu: He et al. 2015."}};

Tensor drawn(const nn::Initialiser& initialiser, const Call& call, Handle shape, Handle dtype, Handle device,
             Handle generator) {
  RandomOptions options;
  if (!dtype.is_none()) options.dtype = dtype_from(dtype);
  options.device = device_or_default(device);
  options.generator = generator_from(generator, "initialiser");
  return initialiser(shape_from(shape), options, call.where());
}

// Called by the constructor of a layer, which Python calls.
nn::Initialiser of_python(nb::object function) {
  return [function = std::move(function)](const Shape& shape, const RandomOptions& options, const Location&) {
    return tensor_from(function(tuple_of(shape), dtype_object(options.dtype), options.device.str()));
  };
}

}  // namespace

nn::Initialiser initialiser_from(Handle object) {
  if (nb::isinstance<nn::Initialiser>(object)) return nb::cast<nn::Initialiser>(object);
  const nb::module_ core = nb::module_::import_("asyncgrad._core");
  for (const InitialRow& row : rows) {
    if (object.is(core.attr(row.name))) return Function(row.function);
    if (PyUnicode_Check(object.ptr()) && nb::cast<std::string>(object) == row.name) return Function(row.function);
  }
  return PyCallable_Check(object.ptr()) != 0 ? of_python(nb::borrow(object)) : nullptr;
}

nb::object initialiser_name(const nn::Initialiser& initialiser) {
  const Function* const function = initialiser.target<Function>();
  for (const InitialRow& row : rows) {
    if (function != nullptr && *function == row.function) return nb::str(row.name);
  }
  return nb::none();
}

void bind_initialisers(nb::module_& m) {
  nb::class_<nn::Initialiser>(m, "Initialiser", "Makes the initial values of a parameter.")
      .def(
          "__call__",
          [](const nn::Initialiser& self, Handle shape, Handle dtype, Handle device, Handle generator) {
            const Call call(tensor_type);
            return call.result(drawn(self, call, shape, dtype, device, generator));
          },
          nb::arg("shape"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
          nb::arg("generator") = nb::none(), "A tensor of a shape.");
  for (const InitialRow& row : rows) {
    m.def(
        row.name,
        [row = &row](Handle shape, Handle dtype, Handle device, Handle generator) {
          const Call call(tensor_type);
          return call.result(drawn(row->function, call, shape, dtype, device, generator));
        },
        nb::arg("shape"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
        nb::arg("generator") = nb::none(), row.doc);
  }
  m.def(
      "_initial_normal", [](double standard_deviation) { return nn::normal(standard_deviation, here()); },
      nb::arg("standard_deviation") = nn::initial_standard_deviation, "N(0, standard_deviation^2).");
  m.def(
      "_initial_uniform", [](double bound) { return nn::uniform(bound, here()); }, nb::arg("bound") = nn::initial_bound,
      "Uniform in [-bound, bound].");
  m.def(
      "_initial_truncated_normal",
      [](double standard_deviation, double bound) { return nn::truncated_normal(standard_deviation, bound, here()); },
      nb::arg("standard_deviation") = nn::initial_standard_deviation, nb::arg("bound") = nn::initial_truncation,
      "N(0, standard_deviation^2) between -bound and bound standard deviations.");
  m.def(
      "_initial_orthogonal", [](double gain) { return nn::orthogonal(gain, here()); },
      nb::arg("gain") = nn::initial_gain,
      "gain Q with orthogonal rows or columns of length 1, for a shape (fan_in, fan_out): Saxe et al. 2014.");
  m.def(
      "_initial_constant", [](double value) { return nn::constant(value); }, nb::arg("value"),
      "One number everywhere.");
}

}  // namespace asyncgrad::python
