// The engine: options, figures, the math mode.
#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "rows.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

Schedule schedule_from(nb::handle value) {
  const std::string wanted = "schedule must be " + schedule_names() + ", got ";
  if (!PyUnicode_Check(value.ptr())) throw_type_error(wanted + repr_of(value));
  if (const auto schedule = schedule_of(nb::cast<std::string>(value))) return *schedule;
  throw_value_error(wanted + repr_of(value));
}

nb::str text_of(std::string_view name) { return nb::str(name.data(), name.size()); }

MemoryBudget budget_from(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    const auto text = nb::cast<std::string>(value);
    if (text == "automatic") return MemoryBudget::automatic();
    if (text == "unbounded") return MemoryBudget::unbounded();
    throw_value_error("a memory budget is \"automatic\", \"unbounded\" or a number of bytes, not " + text);
  }
  return MemoryBudget::bytes(integer_from(value, "a memory budget"));
}
nb::object object_of(MemoryBudget budget) {
  if (budget.is_automatic()) return nb::str("automatic");
  if (budget.is_unbounded()) return nb::str("unbounded");
  return nb::int_(budget.bytes());
}

struct Option {
  const char* name;
  void (*set)(EngineOptions&, const char* name, nb::handle value);
  nb::object (*get)(const EngineOptions&);
};

// A number or a bool. The library checks its range.
template <auto member>
constexpr Option plain_option(const char* name) {
  using Value = std::remove_reference_t<decltype(std::declval<EngineOptions&>().*member)>;
  return {name,
          [](EngineOptions& options, const char* option, nb::handle value) {
            options.*member = read_parameter(value, {"set_engine_options", option}, static_cast<const Value*>(nullptr));
          },
          [](const EngineOptions& options) -> nb::object { return nb::cast(options.*member); }};
}

constexpr Option options_by_name[] = {
    plain_option<&EngineOptions::workers>("workers"),
    {"schedule", [](EngineOptions& options, const char*, nb::handle value) { options.schedule = schedule_from(value); },
     [](const EngineOptions& options) -> nb::object { return text_of(name_of(options.schedule)); }},
    {"memory_budget",
     [](EngineOptions& options, const char*, nb::handle value) { options.memory_budget = budget_from(value); },
     [](const EngineOptions& options) { return object_of(options.memory_budget); }},
    plain_option<&EngineOptions::queue_capacity>("queue_capacity"),
    plain_option<&EngineOptions::inline_tiny>("inline_tiny"),
    plain_option<&EngineOptions::cpu_parts>("cpu_parts"),
    plain_option<&EngineOptions::source_threads>("source_threads"),
    plain_option<&EngineOptions::max_cached_bytes>("max_cached_bytes"),
    plain_option<&EngineOptions::recompute_to_fit>("recompute_to_fit"),
};

const Option& option_of(const std::string& name) {
  for (const Option& option : options_by_name) {
    if (name == option.name) return option;
  }
  std::string known;
  for (const Option& option : options_by_name) known += (known.empty() ? "" : ", ") + std::string(option.name);
  throw_type_error("there is no engine option " + name + "; there are " + known);
}

void set_options(const nb::kwargs& wanted) {
  EngineOptions options = engine_options();
  for (const auto& [key, value] : wanted) {
    const Option& option = option_of(nb::cast<std::string>(key));
    option.set(options, option.name, value);
  }
  set_engine_options(options);
}

nb::dict options_dict() {
  const EngineOptions options = engine_options();
  nb::dict dict;
  for (const Option& option : options_by_name) dict[option.name] = option.get(options);
  return dict;
}

nb::dict figures_dict() {
  const EngineFigures figures = engine_figures();
  nb::dict dict;
  dict["operations"] = figures.operations;
  dict["inlined"] = figures.inlined;
  dict["queued"] = figures.queued;
  dict["peak_queued"] = figures.peak_queued;
  dict["frontend_wait_s"] = figures.frontend_wait_s;
  dict["record_bytes"] = figures.record_bytes;
  dict["recomputed_operations"] = figures.recomputed_operations;
  dict["recomputed_before_writes"] = figures.recomputed_before_writes;
  dict["recomputed_work"] = figures.recomputed_work;
  dict["work"] = figures.work;
  return dict;
}

}  // namespace

void bind_engine(nb::module_& m) {
  m.def("set_engine_options", &set_options, nb::arg("options"),
        "Waits until everything is finished, then sets options: workers, schedule (\"oldest_first\", \"first_ready\", "
        "\"immediate\", \"dry_run\"), memory_budget (\"automatic\", \"unbounded\" or bytes), queue_capacity, "
        "inline_tiny, cpu_parts, source_threads, max_cached_bytes, recompute_to_fit (drops values that backward() will "
        "need, and computes them again there, to keep the serial peak within memory_budget bytes). Other "
        "threads that queue wait meanwhile.");
  m.def("engine_options", &options_dict, "The options in force, by name.");
  m.def("engine_figures", &figures_dict,
        "Counts of operations, bytes of their records, and the seconds that this thread has waited, by name.");
  m.def("engine_report", &engine_report, "What the engine does at this moment, as text.");
  m.def("_recover", [] { return recover(); });
  m.def(
      "to_dot", [](nb::handle x) { return to_dot(tensor_in(x.ptr())); }, nb::arg("x"),
      "The unfinished operations that a tensor waits for, as Graphviz text.");
  m.def(
      "set_math_mode",
      [](const std::string& mode) {
        const auto found = math_mode_of(mode);
        if (!found) throw_value_error("mode must be " + math_mode_names() + ", got '" + mode + "'");
        set_math_mode(*found);
      },
      nb::arg("mode"), "The precision with which products read float32: \"float32\", \"bf16\" or \"tf32\".");
  m.def(
      "math_mode", [] { return text_of(name_of(math_mode())); }, "The precision with which products read float32.");
}

}  // namespace asyncgrad::python
