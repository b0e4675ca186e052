// The engine: options, figures, the profiler.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "rows.h"

namespace asyncgrad::python {

namespace {

Schedule schedule_from(nb::handle value) {
  constexpr const char* wanted = "schedule must be 'oldest_first', 'first_ready', 'immediate' or 'dry_run', got ";
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

nb::dict memory_dict(nb::handle device) {
  const MemoryFigures figures = memory_figures(device_or_default(device));
  nb::dict dict;
  dict["live_bytes"] = figures.live_bytes;
  dict["peak_live_bytes"] = figures.peak_live_bytes;
  dict["serial_live_bytes"] = figures.serial_live_bytes;
  dict["serial_peak_bytes"] = figures.serial_peak_bytes;
  dict["waiting_bytes"] = figures.waiting_bytes;
  dict["cached_bytes"] = figures.cached_bytes;
  dict["workspace_bytes"] = figures.workspace_bytes;
  dict["peak_under_way_bytes"] = figures.peak_under_way_bytes;
  dict["budget_bytes"] = figures.budget_bytes;
  dict["excess_bytes"] = figures.excess_bytes;
  return dict;
}

nb::list device_dicts() {
  nb::list dicts;
  for (const DeviceDescription& device : devices()) {
    nb::dict dict;
    dict["device"] = device.device.str();
    dict["name"] = device.name;
    dict["memory_bytes"] = device.memory_bytes;
    dict["capability"] = device.capability;
    dicts.append(dict);
  }
  return dicts;
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

nb::dict summary_dict(const profiler::Summary& summary) {
  nb::dict dict;
  nb::list operations;
  for (const profiler::OperationTimes& row : summary.operations) {
    nb::dict times;
    times["name"] = row.name;
    times["kind"] = row.kind;
    times["count"] = row.count;
    times["total_s"] = row.total_s;
    times["flops"] = row.flops;
    times["operand_bytes"] = row.operand_bytes;
    operations.append(times);
  }
  dict["operations"] = operations;
  dict["elapsed_s"] = summary.elapsed_s;
  dict["workers"] = summary.workers;
  dict["held_back_s"] = summary.held_back_s;
  dict["idle_s"] = summary.idle_s;
  dict["front_end_s"] = summary.front_end_s;
  dict["front_end_wait_s"] = summary.front_end_wait_s;
  dict["text"] = summary.str();
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
  m.def("memory", &memory_dict, nb::arg("device") = nb::none(),
        "Memory figures of a device in bytes, by name: live_bytes, peak_live_bytes and so on.");
  m.def(
      "reset_peaks", [](nb::handle device) { reset_peaks(device_or_default(device)); }, nb::arg("device") = nb::none(),
      "Starts the peaks again from what is live and queued now.");
  m.def(
      "trim_cache", [](nb::handle device) { trim_cache(device_or_default(device)); }, nb::arg("device") = nb::none(),
      "Gives cached memory back to the system, except what tensors below a megabyte had on a GPU, or pinned.");
  m.def(
      "devices", &device_dicts,
      "What tensors may be on, a dict for each part of the CPU and each GPU: device (\"cuda:0\"), name, memory_bytes, "
      "capability (90 for CUDA's 9.0).");
  m.def("why_no_gpu", &why_no_gpu, "The reason why devices() names no GPU, or \"\".");
  m.def(
      "free_bytes", [](nb::handle device) { return free_bytes(device_or_default(device)); },
      nb::arg("device") = nb::none(),
      "The memory that the driver, or for a CPU the system, could still give. It brings a GPU into use.");
  m.def("resident_bytes", &resident_bytes, "The resident set of the process in bytes.");
  m.def(
      "set_default_device", [](nb::handle device) { set_default_device(device_from(device)); }, nb::arg("device"),
      "Where new tensors are made unless a call names a device.");
  m.def(
      "default_device", [] { return default_device().str(); }, "Where new tensors are made: \"cpu\".");
  m.def("_recover", [] { return recover(); });
  m.def(
      "to_dot", [](nb::handle x) { return to_dot(tensor_in(x.ptr())); }, nb::arg("x"),
      "The unfinished operations that a tensor waits for, as Graphviz text.");
  m.def(
      "dry_run_report",
      [](nb::handle device) {
        const DryRunReport report = dry_run_report(device_or_default(device));
        nb::dict dict;
        dict["operations"] = report.operations;
        dict["serial_peak_bytes"] = report.serial_peak_bytes;
        dict["peak_operation"] = report.peak_operation;
        dict["peak_operands"] = report.peak_operands;
        dict["peak_queued_at"] = report.peak_queued_at;
        dict["held"] = report.held;
        dict["recomputed_operations"] = report.recomputed_operations;
        dict["added_work"] = report.added_work;
        dict["text"] = report.str();
        return dict;
      },
      nb::arg("device") = nb::none(), "What a dry run has counted, by name.");
  m.def(
      "memory_prices",
      [](const nb::callable& step, const std::vector<double>& shares, nb::handle device) {
        nb::list prices;
        for (const MemoryPrice& price : memory_prices([&step] { step(); }, shares, device_or_default(device))) {
          nb::dict dict;
          dict["share"] = price.share;
          dict["serial_peak_bytes"] = price.serial_peak_bytes;
          dict["budget_bytes"] = price.budget_bytes;
          dict["recompute_peak_bytes"] = price.recompute_peak_bytes;
          dict["recomputed_operations"] = price.recomputed_operations;
          dict["added_work"] = price.added_work;
          prices.append(dict);
        }
        return prices;
      },
      nb::arg("step"), nb::arg("shares") = std::vector<double>{1, 0.67, 0.5, 0.33}, nb::arg("device") = nb::none(),
      "What set_engine_options(recompute_to_fit=True) costs within budgets that are shares of the serial peak of "
      "step(), which queues a step of training and is called under the schedule \"dry_run\": a dict for each share. "
      "added_work is what is computed again, divided by the rest.");
  m.def("_profiler_start", [] {
    forget_blockers();
    profiler::start();
  });
  m.def(
      "_profiler_stop",
      [](nb::handle path) { return summary_dict(path.is_none() ? profiler::stop() : profiler::stop(path_from(path))); },
      nb::arg("path").none());
  m.def(
      "set_math_mode",
      [](const std::string& mode) {
        const auto found = math_mode_of(mode);
        if (!found) throw_value_error("mode must be float32, bf16 or tf32, got '" + mode + "'");
        set_math_mode(*found);
      },
      nb::arg("mode"), "The precision with which products read float32: \"float32\", \"bf16\" or \"tf32\".");
  m.def(
      "math_mode", [] { return text_of(name_of(math_mode())); }, "The precision with which products read float32.");
}

}  // namespace asyncgrad::python
