// The processes that train together.
#include "call.h"
#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "rows.h"
#include "tensor.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

int int_from(nb::handle given, const Asked& asked) {
  return read_parameter(given, asked, static_cast<const int*>(nullptr));
}

template <class Object>
std::vector<TensorObject> tensors_listed_by(Object& object) {
  nn::members_detail::StateVisitor visitor;
  nn::Members::visit(object, visitor);
  std::vector<TensorObject> tensors;
  for (auto& [path, tensor] : visitor.state) tensors.push_back(nb::steal(new_object(std::move(tensor), tensor_type)));
  return tensors;
}

// The loop over the parts of a step: yields what a generator of Python yields, which has the scope of the loop. When an
// exception leaves the loop, a generator is closed and does not see it. An object of C++ does: it is destroyed while the
// exception is set.
class LoopOverParts {
 public:
  LoopOverParts(nb::object parts, nb::object generator)
      : object_(std::move(parts)), parts_(*nb::inst_ptr<dist::Parts>(object_)), generator_(std::move(generator)) {}
  LoopOverParts(const LoopOverParts&) = delete;
  LoopOverParts& operator=(const LoopOverParts&) = delete;
  ~LoopOverParts() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    // A generator of the program that has the loop in it may be closed in its midst: that is no failure.
    const bool has_failed = type != nullptr && PyErr_GivenExceptionMatches(type, PyExc_GeneratorExit) == 0;
    if (has_begun_ && has_failed) {
      PyErr_NormalizeException(&type, &value, &traceback);
      fail(type, value);
    }
    generator_.reset();
    if (has_begun_) parts_.end();
    PyErr_Restore(type, value, traceback);
  }

  nb::object next() {
    if (!has_begun_) parts_.begin(here());
    has_begun_ = true;
    nb::object item = nb::steal(PyIter_Next(generator_.ptr()));
    if (item.is_valid()) return item;
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    throw nb::stop_iteration();
  }

 private:
  void fail(nb::handle type, nb::handle value) noexcept {
    try {
      parts_.fail(text_of_exception(type, value));
    } catch (const std::exception&) {  // there is no memory for the text
      parts_.fail("");
    }
  }

  const nb::object object_;
  dist::Parts& parts_;
  nb::object generator_;
  bool has_begun_ = false;
};

void bind_parts(nb::module_& m) {
  using dist::Parts;
  nb::class_<LoopOverParts>(m, "_LoopOverParts")
      .def(nb::init<nb::object, nb::object>(), nb::arg("parts"), nb::arg("generator"))
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __iter__(self) -> Iterator[int]"))
      .def("__next__", &LoopOverParts::next, nb::sig("def __next__(self) -> int"));
  nb::class_<Parts>(m, "_Parts")
      .def(
          "__init__",
          [](Parts* self, const dist::World& world, nb::handle count) {
            new (self) Parts(world, int_from(count, {"Parts", "count"}), here());
          },
          nb::arg("world"), nb::arg("count"))
      .def_prop_ro("count", &Parts::count, "The number of parts of each batch.")
      .def_prop_ro(
          "share", [](const Parts& self) { return shown(self.share()); },
          "This process's rows of each batch, for Batches(share=...): those of its parts.")
      .def("_next", [](Parts& self) { return self.next() ? nb::cast(self.part()) : nb::none(); })
      .def(
          "_rows",
          [](const Parts& self, nb::handle x, nb::handle part) {
            const Call call(x);
            return call.result(self.rows(call.arg(tensor_from(x)), int_from(part, {"Parts.rows", "part"})));
          },
          nb::arg("batch"), nb::arg("part"))
      .def(
          "_add", [](Parts& self, optim::Optimizer& optimizer) { self.add(optimizer, here()); }, nb::arg("optimizer"))
      .def(
          "_average", [](Parts& self, optim::Optimizer& optimizer) { self.average(optimizer, here()); },
          nb::arg("optimizer"))
      .def("get_state", &values_of<Parts>, "What a Checkpoint keeps: the seed, and the number of the step.")
      .def(
          "set_state", [](Parts& self, const nb::dict& state) { assign_values(self, state); }, nb::arg("state"),
          "Goes on from what get_state() returned.");
}

}  // namespace

void bind_dist(nb::module_& m) {
  nb::class_<dist::Figures>(m, "DistFigures", "How long collectives take, and how much of that is hidden.")
      .def_ro("moves", &dist::Figures::moves, "How many pieces were summed, broadcast or gathered.")
      .def_ro("received_bytes", &dist::Figures::received_bytes, "The bytes that came from other processes.")
      .def_ro("moving_s", &dist::Figures::moving_s,
              "The seconds from the moments at which all processes had come to a piece until it was over.")
      .def_ro("exposed_s", &dist::Figures::exposed_s, "The part of moving_s in which nothing was computed.")
      .def_prop_ro("hidden_share", &dist::Figures::hidden_share,
                   "The share of moving_s that was hidden behind the computing.");
  nb::class_<dist::World>(m, "World", "The processes that were started together, and this one's place among them.")
      .def(nb::init<>(), "A world of this process alone.")
      .def_prop_ro("rank", &dist::World::rank, "The number of this process, from 0 on.")
      .def_prop_ro("size", &dist::World::size, "The number of processes.")
      .def_prop_ro(
          "share", [](const dist::World& self) { return shown(self.share()); },
          "This process's rows of each batch, for Batches(share=...).")
      .def_prop_ro("figures", &dist::World::figures, "What the collectives of this process have taken so far.")
      .def("__repr__",
           [](const dist::World& self) { return nb::str("World(rank={}, size={})").format(self.rank(), self.size()); });
  m.def(
      "_world",
      [](double timeout_s, bool lowest_common, double bytes_per_second) {
        const Location where = here();
        const nb::gil_scoped_release released;  // it waits for the other processes
        return dist::world(
            {.timeout_s = timeout_s, .lowest_common = lowest_common, .bytes_per_second = bytes_per_second}, where);
      },
      nb::arg("timeout_s"), nb::arg("lowest_common"), nb::arg("bytes_per_second"));
  const dist::WorldOptions defaults;
  m.attr("_world_timeout_s") = defaults.timeout_s;
  m.attr("_world_lowest_common") = defaults.lowest_common;
  m.attr("_world_bytes_per_second") = defaults.bytes_per_second;
  m.def("_tensors_listed_by", &tensors_listed_by<optim::Optimizer>);
  m.def("_tensors_listed_by", &tensors_listed_by<optim::WeightAverage>);
  m.def(
      "_broadcast",
      [](nb::handle tensors, const dist::World& world) {
        dist::broadcast_tensors(tensors_from(tensors), world, here());
      },
      nb::arg("value"), nb::arg("world"));
  m.def(
      "_average_gradients",
      [](optim::Optimizer& optimizer, const dist::World& world) { dist::average_gradients(optimizer, world, here()); },
      nb::arg("optimizer"), nb::arg("world"));
  m.def(
      "_sum",
      [](nb::handle tensor, const dist::World& world) -> nb::object {
        if (PyList_Check(tensor.ptr()) != 0 || PyTuple_Check(tensor.ptr()) != 0)
          return Call(tensor_type).results(dist::sum(tensors_from(tensor), world, here()));
        return Call(tensor_type).result(dist::sum(Arg(tensor_in(tensor.ptr()), here()), world));
      },
      nb::arg("tensor"), nb::arg("world"));
  bind_parts(m);
}

}  // namespace asyncgrad::python
