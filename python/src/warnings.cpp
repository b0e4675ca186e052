// Warnings of the library become Python's, at the line of the program that they are about.
#include "asyncgrad/core/wording.h"
#include "callbacks.h"
#include "module.h"

namespace asyncgrad::python {

namespace {

PyObject* warning_class = nullptr;  // asyncgrad.Warning

// Any thread may come here, with the interpreter's lock or without it. A filter of Python's may make it an exception.
void give(const Warning& warning) {
  if (!interpreter_runs()) return;
  const nb::gil_scoped_acquire lock;
  Warning without_place = warning;
  without_place.file.clear();
  const std::string text = without_place.str();
  const int status = warning.file.empty() ? PyErr_WarnEx(warning_class, text.c_str(), 1)
                                          : PyErr_WarnExplicit(warning_class, text.c_str(), warning.file.c_str(),
                                                               warning.line, nullptr, nullptr);
  if (status != 0) throw nb::python_error();
}

}  // namespace

void bind_warnings(nb::module_& m) {
  detail::set_program_language(detail::ProgramLanguage::python);
  m.def("_set_warning_class", [](nb::object type) {
    warning_class = type.release().ptr();
    set_warning_handler(give);
  });
  m.def("set_warnings", &set_warnings, nb::arg("on"),
        "Switches asyncgrad's warnings off or on: dropout in what looks like evaluation, a loss that broadcasts, an "
        "optimiser that no gradient reaches.");
  m.def("warnings_are_on", &warnings_are_on, "Whether set_warnings() has left them on.");
}

}  // namespace asyncgrad::python
