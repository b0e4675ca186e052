// The line of Python that makes a call. A frame's line number is found by a scan of its function's table, so it is
// looked up once for each instruction and kept in a small table.
#include <dlfcn.h>

#include <array>
#include <string>
#include <unordered_set>

#include "location.h"

namespace asyncgrad::python {

namespace {

// Not in the limited API, but exported by every CPython: PyFrame_GetLasti from 3.11 on.
using FrameLasti = int (*)(PyFrameObject*);
using FrameBack = PyFrameObject* (*)(PyFrameObject*);
FrameLasti frame_lasti = nullptr;
FrameBack frame_back = nullptr;

struct Place {
  PyObject* code = nullptr;  // kept alive, so that no other code gets its address
  int instruction = -1;
  Location where;
  bool is_own = false;  // of this package
};

constexpr std::size_t places_count = 2048;
std::array<Place, places_count>& places() {
  static auto* const all = new std::array<Place, places_count>;
  return *all;
}

// Named by the file's whole path. Locations refer to them for good.
std::unordered_set<std::string>& files() {
  static auto* const all = new std::unordered_set<std::string>;
  return *all;
}

const std::string& own_folder() {
  static const std::string* const folder = [] {
    const nb::object package = nb::module_::import_("asyncgrad");
    const std::string file = nb::cast<std::string>(nb::str(package.attr("__file__")));
    return new std::string(file.substr(0, file.rfind('/') + 1));
  }();
  return *folder;
}

int instruction_of(PyFrameObject* frame) {
  if (frame_lasti != nullptr) return frame_lasti(frame);
  PyObject* const last = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_lasti");
  const long value = last == nullptr ? -1 : PyLong_AsLong(last);
  Py_XDECREF(last);
  PyErr_Clear();
  return static_cast<int>(value);
}

void fill(Place& place, PyObject* code, int instruction, PyFrameObject* frame) {
  PyObject* const name = PyObject_GetAttrString(code, "co_filename");
  const char* const text = name == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name, nullptr);
  const std::string& file = *files().insert(text == nullptr ? "unknown" : text).first;
  Py_XDECREF(name);
  PyErr_Clear();
  PyObject* const before = place.code;
  Py_INCREF(code);
  place = {.code = code,
           .instruction = instruction,
           .where = {file.c_str(), PyFrame_GetLineNumber(frame)},
           .is_own = file.starts_with(own_folder())};
  Py_XDECREF(before);  // last, as it may run Python, which may look up a place
}

// The place that the frame is at.
const Place& place_of(PyFrameObject* frame) {
  PyObject* const code = reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
  const int instruction = instruction_of(frame);
  const std::size_t hash = (reinterpret_cast<std::uintptr_t>(code) >> 4) * 31 + static_cast<std::size_t>(instruction);
  Place& place = places()[hash % places_count];
  if (place.code != code || place.instruction != instruction) fill(place, code, instruction, frame);
  Py_DECREF(code);
  return place;
}

// The first line outside of this package, or nothing if all frames are its own.
Location outer_place(PyFrameObject* frame) {
  Py_INCREF(frame);
  while (frame != nullptr) {
    const Place& place = place_of(frame);
    if (!place.is_own) {
      Py_DECREF(frame);
      return place.where;
    }
    PyFrameObject* const outer = frame_back(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  return {};
}

}  // namespace

Location here() {
  if (frame_back == nullptr) {
    frame_lasti = reinterpret_cast<FrameLasti>(dlsym(RTLD_DEFAULT, "PyFrame_GetLasti"));
    frame_back = reinterpret_cast<FrameBack>(dlsym(RTLD_DEFAULT, "PyFrame_GetBack"));
  }
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr) return {};
  const Place& place = place_of(frame);
  return place.is_own ? outer_place(frame) : place.where;
}

}  // namespace asyncgrad::python
