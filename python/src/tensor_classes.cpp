// Classes of tensors for other libraries' names, which follow rules of their own. asyncgrad/extend.py documents them.
#include <deque>

#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "tensor.h"
#include "tensor_classes.h"

namespace asyncgrad::python {

namespace {

// The rules of registered classes, which stay for as long as the process. They are read and written with the
// interpreter's lock.
std::deque<ClassRules>& registered() {
  static auto* const all = new std::deque<ClassRules>;
  return *all;
}

thread_local bool recording_requested = false;

PyTypeObject* tensor_class(nb::handle kind) {
  auto* const type = reinterpret_cast<PyTypeObject*>(kind.ptr());
  if (PyType_Check(kind.ptr()) == 0 || PyType_IsSubtype(type, tensor_type) == 0)
    throw_type_error("a class of tensors is derived from asyncgrad.Tensor, unlike " + repr_of(kind));
  return type;
}

void register_class(nb::handle kind, bool keeps_types, bool records_on_request, bool takes_floating_indices) {
  PyTypeObject* const type = tensor_class(kind);
  const ClassRules rules{.type = type,
                         .keeps_types = keeps_types,
                         .records_on_request = records_on_request,
                         .takes_floating_indices = takes_floating_indices};
  for (ClassRules& known : registered()) {
    if (known.type != type) continue;
    known = rules;
    return;
  }
  registered().push_back(rules);
  kind.inc_ref();
}

}  // namespace

const ClassRules& registered_rules_of(PyTypeObject* type) {
  static const ClassRules default_rules;
  for (const ClassRules& rules : registered()) {
    if (rules.type == type) return rules;
  }
  for (const ClassRules& rules : registered()) {
    if (PyType_IsSubtype(type, rules.type) != 0) return rules;
  }
  return default_rules;
}

bool is_recording_requested() { return recording_requested; }

void bind_tensor_classes(nb::module_& m) {
  m.def("_register_class", &register_class, nb::arg("kind").none(), nb::arg("keeps_types"),
        nb::arg("records_on_request"), nb::arg("takes_floating_indices"));
  m.def("_takes_floating_indices", [](nb::handle x) { return rules_of(Py_TYPE(x.ptr())).takes_floating_indices; });
  m.def("_request_recording", [](bool wanted) { return std::exchange(recording_requested, wanted); });
  m.def(
      "_as_class",
      [](nb::handle x, nb::handle kind) {
        return nb::steal(new_object(Tensor(tensor_in(x.ptr())), tensor_class(kind)));
      },
      nb::arg("x"), nb::arg("kind").none());
}

}  // namespace asyncgrad::python
