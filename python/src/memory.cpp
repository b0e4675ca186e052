// Memory: figures, what a dry run has counted, and what less memory costs.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "conversion.h"
#include "module.h"

namespace asyncgrad::python {

namespace {

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

}  // namespace

void bind_memory(nb::module_& m) {
  m.def("memory", &memory_dict, nb::arg("device") = nb::none(),
        "Memory figures of a device in bytes, by name: live_bytes, peak_live_bytes and so on.");
  m.def(
      "reset_peaks", [](nb::handle device) { reset_peaks(device_or_default(device)); }, nb::arg("device") = nb::none(),
      "Starts the peaks again from what is live and queued now.");
  m.def(
      "trim_cache", [](nb::handle device) { trim_cache(device_or_default(device)); }, nb::arg("device") = nb::none(),
      "Gives cached memory back to the system, except what tensors below a megabyte had on a GPU, or pinned.");
  m.def("resident_bytes", &resident_bytes, "The resident set of the process in bytes.");
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
}

}  // namespace asyncgrad::python
