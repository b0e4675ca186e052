// Runs of an experiment: asyncgrad::experiment for a training in Python.
#include "asyncgrad/experiment/document.h"
#include "asyncgrad/experiment/parse.h"
#include "asyncgrad/experiment/plan.h"
#include "asyncgrad/experiment/plot.h"
#include "asyncgrad/experiment/summary.h"
#include "asyncgrad/experiment/train.h"
#include "conversion.h"
#include "errors.h"
#include "module.h"
#include "tensor.h"

#include <nanobind/stl/vector.h>
#include <sys/prctl.h>

#include <csignal>

namespace asyncgrad::python {

namespace {

using Lines = std::vector<std::string>;  // of measurements, as line_of() makes them

// The result of a function of the library that parses words. Its refusal becomes a ValueError.
template <class Function>
auto parsed(const Function& parse) {
  try {
    return parse();
  } catch (const experiment::BadInput& error) {
    throw_value_error(error.what());
  }
}

experiment::RunKind kind_of(const std::string& name) {
  return parsed([&] { return experiment::parse_run("runs", name); });
}

// The digits of an integer of any size.
std::string digits_of(const char* name, nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (index.is_valid()) return nb::cast<std::string>(nb::str(index));
  PyErr_Clear();
  throw_type_error(std::string(name) + " is an integer, not " + repr_of(value));
}

// Refuses what the option of that name refuses.
void check_count(const char* name, nb::handle count, std::int64_t most) {
  parsed([&] { return experiment::parse_whole(name, digits_of(name, count), 1, most); });
}

Tensor loss_in(const nb::object& loss) {
  if (is_tensor(loss.ptr())) return tensor_in(loss.ptr());
  throw_type_error("step returns its loss, a tensor, not " + repr_of(loss));
}

// `make` is called when the engine is set up. It returns two functions: a step, and the parameters.
std::string measure(const std::string& name, int batches, std::uint64_t seed, bool shares_process, nb::callable make) {
  experiment::Run run;
  static_cast<experiment::RunKind&>(run) = kind_of(name);
  run.batches = batches;
  run.seed = seed;
  run.device = default_device();
  run.math = math_mode();
  const auto made = [&make] {
    const nb::object functions = make(), step = functions[0], parameters = functions[1];
    return experiment::main_detail::Training{.step = [step] { return loss_in(step()); },
                                             .parameters = [parameters] { return tensors_from(parameters()); }};
  };
  run = experiment::with_budget_in_bytes(run, made);
  experiment::set_up(run);
  const experiment::main_detail::Training training = made();
  experiment::Recorder recorder(run, {.is_silent = true, .shares_process = shares_process});
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
  m.attr("_experiment_steps") = experiment::Settings{}.batches;
  m.attr("_experiment_seed") = experiment::Settings{}.seed;
  m.def("_experiment_check_run", [](nb::handle name) {
    if (!PyUnicode_Check(name.ptr())) {
      throw_type_error("runs are names, such as \"in-flight:2\", not " + repr_of(name));
    }
    kind_of(nb::cast<std::string>(name));
  });
  m.def(
      "_experiment_check_numbers",
      [](nb::handle steps, nb::handle repeat, nb::handle seed) {
        check_count("steps", steps, experiment::max_batches);
        check_count("repeat", repeat, experiment::max_repeat);
        parsed([&] { return experiment::parse_seed("seed", digits_of("seed", seed)); });
      },
      nb::arg().none(), nb::arg().none(), nb::arg().none());
  // Without the parent, nobody reads the result.
  m.def("_experiment_end_with_parent", [] { prctl(PR_SET_PDEATHSIG, SIGKILL); });
  m.def("_experiment_measure", &measure);
  m.def("_experiment_table", [](const Lines& lines) { return experiment::table(measurements_in(lines)); });
  m.def("_experiment_sentences", [](const Lines& lines) { return experiment::sentences(measurements_in(lines)); });
  m.def("_experiment_document", [](const Lines& lines) { return experiment::document_of(measurements_in(lines)); });
  m.def("_experiment_plot", [](const Lines& lines, const std::string& file) {
    return experiment::memory_plot(measurements_in(lines), file);
  });
}

}  // namespace asyncgrad::python
