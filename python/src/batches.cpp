// Data sets of Python in the library's batches.
#include "batches.h"

#include "asyncgrad/core/wait_hooks.h"
#include "call.h"
#include "callbacks.h"
#include "conversion.h"
#include "custom.h"
#include "dtypes.h"
#include "errors.h"
#include "module.h"
#include "python_object.h"
#include "rows.h"
#include "tensor.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

std::vector<CustomOutput> outputs_of(nb::handle item) {
  std::vector<CustomOutput> outputs;
  if (item.is_none()) return outputs;
  for (const nb::handle part : item) outputs.push_back({.shape = shape_from(part[0]), .dtype = dtype_from(part[1])});
  return outputs;
}

std::vector<double> numbers_in(nb::handle list, const char* what) {
  std::vector<double> numbers;
  for (const nb::object& number : items_from(list, "numbers")) numbers.push_back(float_from(number, what));
  return numbers;
}
nb::list listed_as_integers(const std::vector<std::int64_t>& indices) {
  nb::list list;
  for (const std::int64_t index : indices) list.append(index);
  return list;
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
  if (!nb::inst_ready(self)) return 0;
  const auto& batches = *nb::inst_ptr<PythonBatches>(self);
  Py_VISIT(batches.own_function().ptr());
  Py_VISIT(batches.sampler().ptr());
  return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

}  // namespace

data::Sampler read_parameter(nb::handle given, const Asked& asked, const data::Sampler*) {
  if (nb::isinstance<data::Sampler>(given)) return nb::cast<data::Sampler>(given);
  if (PyCallable_Check(given.ptr()) == 0) asked.refuse("a function of the number of items and the epoch", given);
  return [given](std::int64_t count, std::int64_t epoch) {
    std::vector<std::int64_t> order;
    const Asked an_index{"Batches", "an index of the sampler"};
    for (const nb::object& index : items_from(given(count, epoch), "indices")) {
      if (PyBool_Check(index.ptr())) an_index.refuse("an integer", index);
      order.push_back(read_parameter(index, an_index, static_cast<const std::int64_t*>(nullptr)));
    }
    return order;
  };
}

data::Share read_parameter(nb::handle given, const Asked& asked, const data::Share*) {
  const std::size_t size = nb::isinstance<nb::tuple>(given) ? nb::len(given) : 0;
  if (size != 2 && size != 3) {
    asked.refuse("an index and a count, such as world.share, and perhaps a length, such as parts.share", given);
  }
  const auto part = [&](std::size_t i) { return read_parameter(given[i], asked, static_cast<const int*>(nullptr)); };
  return {.index = part(0), .count = part(1), .length = size == 3 ? part(2) : data::Share().length};
}
nb::object shown(const data::Share& value) {
  if (value.length == data::Share().length) return nb::make_tuple(value.index, value.count);
  return nb::make_tuple(value.index, value.count, value.length);
}

PythonBatches::PythonBatches(nb::handle item, nb::object fill, bool draws, std::int64_t length,
                             const data::BatchOptions& options, nb::object sampler)
    : fill_(std::move(fill)),
      sampler_(std::move(sampler)),
      draws_(draws),
      options_(options),
      has_item_(!item.is_none()) {
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
                                                          {"ahead", &O::ahead},
                                                          {"sampler", &O::sampler},
                                                          {"share", &O::share}}};
  nb::class_<data::Sampler>(m, "Sampler", "Chooses the items of each epoch of a data set.")
      .def(
          "__call__",
          [](const data::Sampler& self, std::int64_t count, std::int64_t epoch) {
            return listed_as_integers(self(count, epoch));
          },
          nb::arg("count"), nb::arg("epoch"),
          "The indices of the items of an epoch, of a data set with `count` items.");
  const data::WeightedOptions weighted;
  m.def(
      "weighted",
      [](nb::handle weights, bool replacement, std::int64_t samples, nb::typed<nb::handle, int> seed) {
        return data::weighted(numbers_in(weights, "[weighted] a weight"),
                              {.replacement = replacement, .samples = samples, .seed = seed_from(seed, "weighted")},
                              here());
      },
      nb::arg("weights"), nb::arg("replacement") = weighted.replacement, nb::arg("samples") = weighted.samples,
      nb::arg("seed") = weighted.seed,
      "A sampler that draws items with probabilities in proportion to their weights, `samples` of them in an epoch, or "
      "with 0 as many as there are weights. What it draws depends on the seed and the epoch alone.");
  m.def(
      "_split",
      [](std::int64_t count, nb::handle shares, bool shuffled, nb::typed<nb::handle, int> seed) {
        nb::list parts;
        for (const auto& part : data::split_indices(count, numbers_in(shares, "[split] a share"),
                                                    {.shuffled = shuffled, .seed = seed_from(seed, "split")}, here())) {
          parts.append(listed_as_integers(part));
        }
        return parts;
      },
      nb::arg("count"), nb::arg("shares"), nb::arg("shuffled"), nb::arg("seed"));
  const data::SplitOptions split;
  m.attr("_split_defaults") = nb::make_tuple(split.shuffled, split.seed);
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
                                     row->read(nb::borrow<nb::args>(nb::make_tuple()), given).options,
                                     given.contains("sampler") ? nb::object(given["sampler"]) : nb::none());
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
      .def("_left_out",
           [](PythonBatches& self, std::int64_t length) {
             self.set_length(length);
             return self.left_out();
           })
      .def_prop_ro("epoch", &PythonBatches::epoch, "The number of the epoch that the next batch is of, from 0 on.")
      .def_prop_ro("batch", &PythonBatches::batch, "Which batch of the epoch comes next, from 0 on.")
      .def("get_state", &values_of<PythonBatches>, "What a Checkpoint keeps: the epoch, and the batch that comes next.")
      .def(
          "set_state", [](PythonBatches& self, const nb::dict& state) { assign_values(self, as_now(state)); },
          nb::arg("state"), "Goes on from what get_state() returned.");
}

}  // namespace asyncgrad::python
