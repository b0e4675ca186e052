// The processes that train together.
#include "binding.h"

namespace asyncgrad::python {

void bind_dist(nb::module_& m) {
  nb::class_<dist::World>(m, "World", "The processes that were started together, and this one's place among them.")
      .def_prop_ro("rank", &dist::World::rank, "The number of this process, from 0 on.")
      .def_prop_ro("size", &dist::World::size, "The number of processes.")
      .def_prop_ro(
          "share", [](const dist::World& self) { return nb::make_tuple(self.rank(), self.size()); },
          "This process's rows of each batch, for Batches(share=...).")
      .def("__repr__",
           [](const dist::World& self) { return nb::str("World(rank={}, size={})").format(self.rank(), self.size()); });
  m.def(
      "_world",
      [](double timeout_s) {
        const Location where = here();
        const nb::gil_scoped_release released;  // it waits for the other processes
        return dist::world({.timeout_s = timeout_s}, where);
      },
      nb::arg("timeout_s"));
  m.attr("_world_timeout_s") = dist::WorldOptions().timeout_s;
  m.def("_broadcast",
        [](optim::Optimizer& optimizer, const dist::World& world) { dist::broadcast(optimizer, world, here()); });
  m.def("_broadcast_tensors", [](nb::handle tensors, const dist::World& world) {
    dist::broadcast_tensors(tensors_from(tensors), world, here());
  });
  m.def("_average_gradients", [](optim::Optimizer& optimizer, const dist::World& world) {
    dist::average_gradients(optimizer, world, here());
  });
  m.def("_sum_of_ranks", [](nb::handle tensor, const dist::World& world) {
    return Call(tensor_type).result(dist::sum(Arg(tensor_in(tensor.ptr()), here()), world));
  });
}

}  // namespace asyncgrad::python
