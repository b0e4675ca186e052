// Learning rates that change from step to step.
#include "call.h"
#include "module.h"
#include "rows.h"
#include "values.h"

namespace asyncgrad::python {

namespace {

using optim::Factor;
using optim::Schedule;

Factor factor_of(const char* owner, const char* name, nb::handle given) {
  return read_parameter(given, {owner, name}, static_cast<const Factor*>(nullptr));
}

// What these keep may refer to them, so that the garbage collector has to see it. What leads from there to these can be
// cleared, so that these need not be.

// A factor that goes on as another one, which may be a function of Python.
class OwnFactor : public Factor {
 public:
  OwnFactor(Factor factor, nb::handle then) : Factor(std::move(factor)), then_(nb::borrow(then)) {}

  static int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<OwnFactor>(self)->then_.ptr());
    return 0;
  }

 private:
  nb::object then_;
};
PyType_Slot slots_of_factor[] = {{Py_tp_traverse, reinterpret_cast<void*>(OwnFactor::traverse)}, {0, nullptr}};

class OwnSchedule : public Schedule {
 public:
  OwnSchedule(nb::handle optimizer, nb::handle factor)
      : Schedule(nb::cast<optim::Optimizer&>(optimizer), factor_of("Schedule", "factor", factor)),
        optimizer_(nb::borrow(optimizer)),
        factor_(nb::borrow(factor)) {}

  static int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const auto& schedule = *nb::inst_ptr<OwnSchedule>(self);
    Py_VISIT(schedule.optimizer_.ptr());
    Py_VISIT(schedule.factor_.ptr());
    return 0;
  }

 private:
  nb::object optimizer_, factor_;
};
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(OwnSchedule::traverse)}, {0, nullptr}};

// The state that version 0.1.0 kept: the count, and one rate for all groups. Only the first group certainly had that
// rate.
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
  // From its length on a cosine is `min_factor`: so is its default.
  m.def("cosine", &optim::cosine, nb::arg("length"), nb::arg("min_factor") = optim::cosine(1)(1),
        "A schedule: min_factor + (1 - min_factor) (1 + cos(pi t / length)) / 2 after t steps, and `min_factor` from "
        "t = length on.");
  nb::class_<OwnFactor, Factor>(m, "_OwnFactor", nb::type_slots(slots_of_factor));
  m.def(
      "warm_up",
      [](std::int64_t length, nb::handle then) -> nb::typed<nb::object, Factor> {
        if (then.is_none()) return nb::cast(optim::warm_up(length));
        return nb::cast(OwnFactor(optim::warm_up(length, factor_of("warm_up", "then", then)), then));
      },
      nb::arg("length"), nb::arg("then") = nb::none(),
      "A schedule: (t + 1) / length after t steps, and then(t - length), or 1 for None, from t = length on.");
  const optim::OneCycleOptions cycle;
  m.def(
      "one_cycle",
      [](std::int64_t length, double rise, double first_factor, double last_factor) {
        return optim::one_cycle(length, {.rise = rise, .first_factor = first_factor, .last_factor = last_factor});
      },
      nb::arg("length"), nb::arg("rise") = cycle.rise, nb::arg("first_factor") = cycle.first_factor,
      nb::arg("last_factor") = cycle.last_factor,
      "A schedule that rises from the first factor to 1 in the part `rise` of the length, and falls to the last one, "
      "each along half a period of a cosine.");
  nb::class_<Schedule>(m, "_Schedule");
  nb::class_<OwnSchedule, Schedule>(m, "Schedule", nb::type_slots(slots),
                                    "Sets the learning rate of each group of an optimiser to the one that it had at "
                                    "first times factor(t), where t is the number of steps so far. The factor is one "
                                    "of steps(), cosine(), warm_up() and one_cycle(), or any function of t.")
      .def(
          "__init__",
          [](OwnSchedule* self, nb::typed<nb::handle, optim::Optimizer> optimizer, nb::handle factor) {
            new (self) OwnSchedule(optimizer, factor);
          },
          nb::arg("optimizer"), nb::arg("factor"), "Sets the rates for t = 0.")
      .def("step", &OwnSchedule::step, "Call it once after each step of the optimiser.")
      .def_prop_ro("count", &OwnSchedule::count, "The number of steps so far.")
      .def("get_state", &values_of<OwnSchedule>,
           "What a Checkpoint keeps: the count of steps and the first learning rates.")
      .def(
          "set_state", [](OwnSchedule& self, const nb::dict& state) { assign_values(self, as_now(self, state)); },
          nb::arg("state"), "Goes on from what get_state() returned.");
  using optim::Plateau;
  const optim::PlateauOptions plateau;
  nb::class_<Plateau>(
      m, "Plateau",
      "Lowers the learning rates by `factor` where a measured value has been no better than the best for "
      "more than `patience` times. A value is better if it is lower, or with larger_is_better larger, by "
      "the part `threshold` of the best. A Checkpoint keeps its state.")
      .def(
          "__init__",
          [](Plateau* self, optim::Optimizer& optimizer, double factor, std::int64_t patience, double threshold,
             bool larger_is_better, double min_lr) {
            new (self) Plateau(optimizer,
                               {.factor = factor,
                                .patience = patience,
                                .threshold = threshold,
                                .larger_is_better = larger_is_better,
                                .min_lr = min_lr},
                               here());
          },
          nb::keep_alive<1, 2>(), nb::arg("optimizer"), nb::arg("factor") = plateau.factor,
          nb::arg("patience") = plateau.patience, nb::arg("threshold") = plateau.threshold,
          nb::arg("larger_is_better") = plateau.larger_is_better, nb::arg("min_lr") = plateau.min_lr)
      .def("step", &Plateau::step, nb::arg("value"),
           "Call it with each new value; returns whether rates were lowered.");
}

}  // namespace asyncgrad::python
