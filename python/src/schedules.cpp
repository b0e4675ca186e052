// Learning rates that change from step to step.
#include "rows.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

using optim::Factor;
using optim::Schedule;

// What version 0.1.0 kept: the count, and one rate for all groups. Only the first group had that for certain.
nb::dict as_now(Schedule& schedule, const nb::dict& state) {
  if (!state.contains("first")) return state;
  nb::dict values = values_of(schedule);
  values["count"] = state["count"];
  values["first_rates.0"] = state["first"];
  return values;
}

}  // namespace

void bind_schedules(nb::module_& m) {
  nb::class_<Factor>(m, "Factor", "By what a learning rate is multiplied after each number of steps.")
      .def(
          "__call__", [](const Factor& self, std::int64_t step) { return self(step); }, nb::arg("step"),
          "The factor after so many steps.");
  m.def("steps", &optim::steps, nb::arg("every"), nb::arg("factor"),
        "A schedule: factor^floor(t / every) after t steps.");
  // From its length on a cosine is `least`: so is its default.
  m.def("cosine", &optim::cosine, nb::arg("length"), nb::arg("least") = optim::cosine(1)(1),
        "A schedule: least + (1 - least) (1 + cos(pi t / length)) / 2 after t steps, and `least` from t = length on.");
  m.def(
      "warm_up",
      [](std::int64_t length, nb::handle then) {
        if (then.is_none()) return optim::warm_up(length);
        return optim::warm_up(length, read_parameter(then, {"warm_up", "then"}, static_cast<const Factor*>(nullptr)));
      },
      nb::arg("length"), nb::arg("then") = nb::none(),
      "A schedule: (t + 1) / length after t steps, and then(t - length), or 1 for None, from t = length on.");
  nb::class_<Schedule>(m, "Schedule",
                       "Sets the learning rate of each group of an optimiser to the one that it had at first times "
                       "factor(t), where t is the number of steps so far. The factor is one of steps(), cosine() and "
                       "warm_up(), or any function of t.")
      .def(
          "__init__",
          [](Schedule* self, optim::Optimizer& optimizer, nb::handle factor) {
            new (self) Schedule(optimizer,
                                read_parameter(factor, {"Schedule", "factor"}, static_cast<const Factor*>(nullptr)));
          },
          nb::arg("optimizer"), nb::arg("factor"), nb::keep_alive<1, 2>(), "Sets the rates for t = 0.")
      .def("step", &Schedule::step, "Call it once after each step of the optimiser.")
      .def_prop_ro("count", &Schedule::count, "The number of steps so far.")
      .def("get_state", &values_of<Schedule>,
           "What a Checkpoint keeps: the count of steps and the first learning rates.")
      .def(
          "set_state", [](Schedule& self, const nb::dict& state) { assign_values(self, as_now(self, state)); },
          nb::arg("state"), "Goes on from what get_state() returned.");
}

}  // namespace asyncgrad::python
