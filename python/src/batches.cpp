// Data sets of Python in the library's batches.
#include "batches.h"

#include "asyncgrad/core/wait_hooks.h"
#include "rows.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

std::vector<CustomOutput> outputs_of(nb::handle item) {
  std::vector<CustomOutput> outputs;
  if (item.is_none()) return outputs;
  for (const nb::handle part : item) outputs.push_back({.shape = shape_from(part[0]), .dtype = dtype_from(part[1])});
  return outputs;
}

// Runs on a thread of the library.
data::Batches<PythonData>::Collate filled_by(const HeldObject& function, bool draws, std::size_t parts) {
  return [function, draws, parts](std::span<const PythonItem> items, const CustomCall& call) {
    const PythonCallback callback(PythonCallback::Kind::source);
    if (!callback.may_run()) throw Dropped("[batch] the interpreter has ended before it was computed");
    try {
      nb::list places, randoms;
      for (const PythonItem& item : items) {
        places.append(item.index);
        if (draws) randoms.append(item.random);
      }
      const nb::list views = output_views(call, static_cast<int>(parts));
      const nb::tuple arguments = draws ? nb::make_tuple(places, views, randoms) : nb::make_tuple(places, views);
      const nb::object result = nb::steal(call_python(function.get(), arguments));
      if (!result.is_valid()) throw_callback_error("batch");
    } catch (nb::python_error& error) {
      error.restore();
      throw_callback_error("batch");
    }
  };
}

// Version 0.1.0 kept the number of the next epoch.
nb::dict as_now(const nb::dict& state) {
  nb::dict values;
  values["batch"] = 0;
  for (const auto& [key, value] : state) values[key] = value;
  return values;
}

// The data set may refer to the batches. What leads from one to the other can be cleared, so that this need not be.
int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<PythonBatches>(self)->own_function().ptr());
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

}  // namespace

PythonBatches::PythonBatches(nb::handle item, nb::object fill, bool draws, std::int64_t length,
                             const data::BatchOptions& options)
    : fill_(std::move(fill)), draws_(draws), options_(options), has_item_(!item.is_none()) {
  set_length(length);
  make(item);
}

void PythonBatches::make(nb::handle item) {
  const std::vector<CustomOutput> outputs = outputs_of(item);
  batches_.emplace(PythonData{length_}, outputs, filled_by(fill_, draws_, outputs.size()), options_, here());
}

void PythonBatches::set_item(nb::handle item) {
  const nb::dict place = values_of(*this);
  make(item);
  has_item_ = true;
  assign_values(*this, place);
}

void bind_batches(nb::module_& m) {
  using O = data::BatchOptions;
  using BatchRow = Row<O, nb::object>;
  static const auto* const row = new BatchRow{.name = "Batches",
                                              .doc = "Goes through a data set in batches.",
                                              .given = {"data"},
                                              .options = {{"batch_size", &O::batch_size},
                                                          {"shuffled", &O::shuffled},
                                                          {"seed", &O::seed},
                                                          {"drop_last", &O::drop_last},
                                                          {"ahead", &O::ahead}}};
  nb::class_<data::Random>(m, "_Random")
      .def(nb::init<std::uint64_t, std::int64_t, std::int64_t>(), nb::arg("seed"), nb::arg("epoch"), nb::arg("index"))
      .def("bits", &data::Random::operator())
      .def("uniform", &data::Random::uniform)
      .def_prop_ro("epoch", &data::Random::epoch);
  nb::class_<PythonBatches> batches(m, "_Batches", nb::type_slots(slots));
  bind_row(batches, row);
  batches
      .def(
          "__init__",
          [](PythonBatches* self, nb::handle item, nb::object fill, bool draws, std::int64_t length,
             const nb::kwargs& given) {
            new (self) PythonBatches(item, std::move(fill), draws, length,
                                     row->read(nb::borrow<nb::args>(nb::make_tuple()), given).options);
          },
          nb::arg("item").none(), nb::arg("fill"), nb::arg("draws"), nb::arg("length"), nb::arg("given"))
      .def("_has_item", &PythonBatches::has_item)
      .def("_set_item", &PythonBatches::set_item)
      .def("_next",
           [](PythonBatches& self, std::int64_t length) -> nb::object {
             self.set_length(length);
             const Call call(tensor_type);
             const QueuesCallback queues;
             auto batch = self.next(call.where());
             if (!batch) return nb::none();
             return nb::tuple(call.results(std::move(*batch)));
           })
      .def("_size",
           [](PythonBatches& self, std::int64_t length) {
             self.set_length(length);
             return self.size();
           })
      .def_prop_ro("epoch", &PythonBatches::epoch, "The number of the epoch that the next batch is of, from 0 on.")
      .def_prop_ro("batch", &PythonBatches::batch, "Which batch of the epoch comes next, from 0 on.")
      .def("get_state", &values_of<PythonBatches>, "What a Checkpoint keeps: the epoch, and the batch that comes next.")
      .def(
          "set_state", [](PythonBatches& self, const nb::dict& state) { assign_values(self, as_now(state)); },
          nb::arg("state"), "Goes on from what get_state() returned.");
}

}  // namespace asyncgrad::python
