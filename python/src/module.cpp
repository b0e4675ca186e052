// The extension asyncgrad._core.
#include "binding.h"

NB_MODULE(_core, m) {
  namespace python = asyncgrad::python;
  nanobind::set_leak_warnings(false);  // tensors may live until the process ends
  m.attr("__version__") = "0.1.0";
  python::bind_errors(m);
  python::bind_dtypes(m);
  auto tensor = python::bind_tensor(m);
  python::bind_elementwise(m, tensor);
  python::bind_reductions(m, tensor);
  python::bind_shapes(m, tensor);
  python::bind_selection(m, tensor);
  python::bind_products(m, tensor);
  python::bind_layer_functions(m);
  python::bind_gradients(m, tensor);
  python::bind_copies(m, tensor);
  python::bind_creation(m);
  python::bind_indexing(m);
  python::bind_arrays(m, tensor);
  python::bind_engine(m);
  python::bind_scopes(m);
  python::bind_training(m);
  python::bind_custom(m);
  python::bind_windows(m);
  python::bind_layers(m);
}
