// The processes that train together.
#include "binding.h"
#include "rows.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

int int_from(nb::handle given, const Asked& asked) {
  return read_parameter(given, asked, static_cast<const int*>(nullptr));
}

void bind_parts(nb::module_& m) {
  using dist::Parts;
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
      .def("_begin", [](Parts& self) { self.begin(here()); })
      .def("_next", [](Parts& self) { return self.next() ? nb::cast(self.part()) : nb::none(); })
      .def("_end", &Parts::end)
      .def("_rows",
           [](const Parts& self, nb::handle x, nb::handle part) {
             const Call call(x);
             return call.result(self.rows(call.arg(tensor_from(x)), int_from(part, {"Parts.rows", "part"})));
           })
      .def("_add", [](Parts& self, optim::Optimizer& optimizer) { self.add(optimizer, here()); })
      .def("_average", [](Parts& self, optim::Optimizer& optimizer) { self.average(optimizer, here()); })
      .def("get_state", &values_of<Parts>, "What a Checkpoint keeps: the seed, and the number of the step.")
      .def(
          "set_state", [](Parts& self, const nb::dict& state) { assign_values(self, state); }, nb::arg("state"),
          "Goes on from what get_state() returned.");
}

}  // namespace

void bind_dist(nb::module_& m) {
  nb::class_<dist::Figures>(m, "DistFigures", "How long collectives take, and how much of that is hidden.")
      .def_ro("moves", &dist::Figures::moves, "How many pieces were summed or broadcast.")
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
          "share", [](const dist::World& self) { return nb::make_tuple(self.rank(), self.size()); },
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
  m.attr("_world_timeout_s") = dist::WorldOptions().timeout_s;
  m.def("_broadcast",
        [](optim::Optimizer& optimizer, const dist::World& world) { dist::broadcast(optimizer, world, here()); });
  m.def("_broadcast_tensors", [](nb::handle tensors, const dist::World& world) {
    dist::broadcast_tensors(tensors_from(tensors), world, here());
  });
  m.def("_average_gradients", [](optim::Optimizer& optimizer, const dist::World& world) {
    dist::average_gradients(optimizer, world, here());
  });
  m.def("_sums_of_ranks", [](nb::handle tensors, const dist::World& world) {
    return Call(tensor_type).results(dist::sum(tensors_from(tensors), world, here()));
  });
  m.def("_sum_of_ranks", [](nb::handle tensor, const dist::World& world) {
    return Call(tensor_type).result(dist::sum(Arg(tensor_in(tensor.ptr()), here()), world));
  });
  bind_parts(m);
}

}  // namespace asyncgrad::python
