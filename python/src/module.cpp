// The extension asyncgrad._core.
#include "module.h"

namespace {
bool is_made = false;  // the module
}

NB_MODULE(core_of_main_interpreter, m) {
  namespace python = asyncgrad::python;
  nanobind::set_leak_warnings(false);  // tensors may live until the process ends
  m.attr("__version__") = ASYNCGRAD_VERSION;
  python::bind_errors(m);
  python::bind_warnings(m);
  python::bind_dtypes(m);
  auto tensor = python::bind_tensor(m);
  python::bind_tensor_classes(m);
  python::bind_elementwise(m, tensor);
  python::bind_reductions(m, tensor);
  python::bind_shapes(m, tensor);
  python::bind_selection(m, tensor);
  python::bind_products(m, tensor);
  python::bind_layer_functions(m);
  python::bind_gradients(m, tensor);
  python::bind_copies(tensor);
  python::bind_creation(m);
  python::bind_indexing(m);
  python::bind_arrays(m);
  python::bind_dlpack(m, tensor);
  python::bind_engine(m);
  python::bind_memory(m);
  python::bind_devices(m);
  python::bind_profiler(m);
  python::bind_waits(m);
  python::bind_scopes(m);
  python::bind_initialisers(m);
  python::bind_optimizers(m);
  python::bind_dist(m);
  python::bind_schedules(m);
  python::bind_batches(m);
  python::bind_custom(m);
  python::bind_callbacks(m);
  python::bind_convolution_functions(m);
  python::bind_pooling_functions(m);
  python::bind_layers(m);
  python::bind_losses(m);
  python::bind_recurrent_functions(m);
  python::bind_members(m);
  python::bind_files(m);
  python::bind_experiment(m);
  python::bind_refused_calls(m);
  is_made = true;
}

namespace {

// The objects of Python that nanobind and the library keep, the way in which the library's threads enter Python, and
// its exit belong to one interpreter. 0, or -1 with Python's error.
int refuse_other_interpreters(PyObject*) {
  constexpr std::int64_t main_id = 0;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == main_id) return 0;
  PyErr_SetString(
      PyExc_ImportError,
      "asyncgrad can be imported in the main interpreter of a process alone, and this is another one; use a "
      "thread or a process in its place");
  return -1;
}

}  // namespace

// Python calls this first. From 3.13 on it does so in the main interpreter, whichever one imports. So the module begins
// with the same check, before nanobind fills it and forgets the main interpreter's.
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (refuse_other_interpreters(nullptr) != 0) return nullptr;
  if (is_made) {
    PyErr_SetString(PyExc_ImportError,
                    "asyncgrad can be imported once in a process, and was taken out of sys.modules since; start a new "
                    "process");
    return nullptr;
  }
  PyObject* const made = PyInit_core_of_main_interpreter();
  if (made == nullptr || Py_TYPE(made) != &PyModuleDef_Type) return made;
  static PyModuleDef module = *reinterpret_cast<PyModuleDef*>(made);
  static std::vector<PyModuleDef_Slot> slots;
  if (slots.empty()) {
    slots.push_back({Py_mod_exec, reinterpret_cast<void*>(refuse_other_interpreters)});
    for (const PyModuleDef_Slot* slot = module.m_slots; slot->slot != 0; ++slot) slots.push_back(*slot);
    slots.push_back({0, nullptr});
    module.m_slots = slots.data();
  }
  return PyModuleDef_Init(&module);
}
