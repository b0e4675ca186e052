// Runs of an experiment: asyncgrad::experiment for a training in Python.
#include "asyncgrad/experiment/document.h"
#include "asyncgrad/experiment/options.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/plot.h"
#include "asyncgrad/experiment/summary.h"
#include "asyncgrad/experiment/train.h"
#include "binding.h"

#include <nanobind/stl/vector.h>

namespace asyncgrad::python {

namespace {

using Lines = std::vector<std::string>;  // of measurements, as line_of() makes them

experiment::RunKind kind_of(const std::string& name) {
  try {
    return experiment::parse_run("runs", name);
  } catch (const experiment::BadInput& error) {
    throw_value_error(error.what());
  }
}

// `make` is called when the engine is set up. It returns two functions: a step, and the parameters.
std::string measure(const std::string& name, int batches, std::uint64_t seed, bool shares_process, nb::callable make) {
  experiment::Run run;
  static_cast<experiment::RunKind&>(run) = kind_of(name);
  run.batches = batches;
  run.seed = seed;
  run.device = default_device();
  run.math = math_mode();
  experiment::set_up(run);
  const nb::object made = make(), step = made[0], parameters = made[1];
  experiment::Recorder recorder(run, {.is_silent = true, .shares_process = shares_process});
  const experiment::main_detail::Training training{.step = [&] { return tensor_in(step().ptr()); },
                                                   .parameters = [&] { return tensors_from(parameters()); }};
  try {
    experiment::train(run, training, recorder);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::asynchronous) throw AsyncError(error);
    throw;
  }
  return experiment::line_of(*recorder.result());
}

experiment::Measurements measurements_in(const Lines& lines) {
  experiment::Measurements runs;
  for (const std::string& line : lines) {
    std::optional<experiment::Measurement> run = experiment::measurement_in(line);
    if (!run) throw_value_error("this is not what was measured of a run: " + line);
    runs.push_back(*std::move(run));
  }
  return runs;
}

}  // namespace

void bind_experiment(nb::module_& m) {
  m.def("_experiment_runs", [] { return experiment::split(experiment::default_runs, ','); });
  m.def("_experiment_check_run", [](const std::string& name) { kind_of(name); });
  m.def("_experiment_measure", &measure);
  m.def("_experiment_table", [](const Lines& lines) { return experiment::table(measurements_in(lines)); });
  m.def("_experiment_sentences", [](const Lines& lines) { return experiment::sentences(measurements_in(lines)); });
  m.def("_experiment_document", [](const Lines& lines) { return experiment::document_of(measurements_in(lines)); });
  m.def("_experiment_plot", [](const Lines& lines, const std::string& file) {
    return experiment::memory_plot(measurements_in(lines), file);
  });
}

}  // namespace asyncgrad::python
