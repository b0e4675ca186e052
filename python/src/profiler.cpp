// The profiler.
#include "conversion.h"
#include "module.h"
#include "waits.h"

namespace asyncgrad::python {

namespace {

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

void bind_profiler(nb::module_& m) {
  m.def("_profiler_start", [] {
    forget_blockers();
    profiler::start();
  });
  m.def(
      "_profiler_stop",
      [](nb::handle path) { return summary_dict(path.is_none() ? profiler::stop() : profiler::stop(path_from(path))); },
      nb::arg("path").none());
}

}  // namespace asyncgrad::python
