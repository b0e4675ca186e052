// The whole of main() for a program that compares runs of one training.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/core/tensor.h"
#include "asyncgrad/experiment/options.h"
#include "asyncgrad/experiment/settings.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::experiment {

namespace main_detail {

// A training of any type, as the library sees it.
struct Training {
  std::function<Tensor()> step;                     // queues a step and returns its loss, a scalar
  std::function<std::vector<Tensor>()> parameters;  // whose bits are compared
  std::function<void()> report{};                   // is called after the last step; may be empty
  std::function<void(nn::Members&)> members{};      // lists what a checkpoint keeps; empty: there is no list
};

// A training whose list of members is its own.
struct ListedTraining {
  const Training& training;
  void members(nn::Members& m) { training.members(m); }
};

struct Program {
  Settings& settings;  // the defaults, which the command line replaces
  Options options{};   // of the program's own
  std::function<Training()> make{};
};

// Returns the exit status.
int run(int argc, char** argv, const Program& program);

// The type of the parameter of `make`, or Settings if it has none.
template <class Signature>
struct SettingsOf;
template <class Made>
struct SettingsOf<std::function<Made()>> {
  static_assert(!std::is_void_v<Made>, "`make` returns the training");
  using type = Settings;
  static constexpr bool are_taken = false;
};
template <class Made, class Taken>
struct SettingsOf<std::function<Made(Taken)>> {
  using type = std::remove_cvref_t<Taken>;
  static constexpr bool are_taken = true;
  static_assert(!std::is_void_v<Made>, "`make` returns the training");
  static_assert(std::derived_from<type, Settings>,
                "`make` takes nothing, or ag::experiment::Settings, or a type derived from it");
  static_assert(std::is_convertible_v<const type&, Taken>,
                "`make` takes its settings as a constant reference, `const Settings&`, or by value");
};

// Whether a class has a member called `options`, be it private: then the name means two things in `Both`. No class can
// be derived from a final one, of which this says no.
struct Named {
  int options;
};
template <class T>
struct Both : T, Named {};
template <class T>
concept NamesOptions = !std::is_final_v<T> && !requires {
  &Both<T>::options;
};

// The training itself where `make` returns a pointer that owns it.
template <class Made>
auto& target(Made& made) {
  if constexpr (requires { *made; }) {
    return *made;
  } else {
    return made;
  }
}

template <class Target>
std::vector<Tensor> parameters_of(Target& training) {
  if constexpr (requires { std::vector<Tensor>(training.parameters()); }) {
    return training.parameters();
  } else {
    static_assert(nn::Listed<Target>,
                  "the parameters whose bits are compared come from the training: give it a line with its layers, "
                  "`void members(ag::nn::Members& m) { m(\"net\", net); }`, or `std::vector<ag::Tensor> parameters()`, "
                  "which is public");
    nn::members_detail::StateVisitor visitor;
    nn::Members::visit(training, visitor);
    return nn::members_detail::parameters_of(visitor);
  }
}

template <class Made>
std::function<void(nn::Members&)> list_of(const std::shared_ptr<Made>& made) {
  if constexpr (requires(nn::Members & m) { target(*made).members(m); }) {
    return [made](nn::Members& m) { target(*made).members(m); };
  } else {
    return {};
  }
}

// `call` makes a training, which need be neither copyable nor movable.
template <class Call, class Step, class Report>
Training training(Call&& call, Step step, Report report) {
  using Made = std::decay_t<decltype(call())>;
  const std::shared_ptr<Made> made(new Made(call()));
  using Target = std::remove_reference_t<decltype(target(*made))>;
  static_assert(std::is_invocable_r_v<Tensor, Step&, Target&>,
                "`step` takes the training that `make` returns, queues one batch, and returns its loss, an ag::Tensor");
  return {.step = [made, step]() mutable -> Tensor { return std::invoke(step, target(*made)); },
          .parameters = [made] { return parameters_of(target(*made)); },
          .report = [made, report]() mutable { std::invoke(report, target(*made)); },
          .members = list_of(made)};
}

}  // namespace main_detail

// The default of `report`, which prints nothing.
struct NoReport {
  template <class Training>
  void operator()(const Training&) const {}
};

// Reads the command line, starts this program again for every run, and reports a table, sentences, a picture and the
// data. A run calls
//   - `make(settings)`, or `make()`, once: it returns the training, of any type, or a pointer that owns it;
//   - `step(training)` for each batch, and once before them to warm up: it queues the batch and returns its loss, a
//     scalar. It should wait for nothing: the run has its barriers;
//   - `report(training)` at the end, when all is computed, if it is given: it may print what was learned.
// The training has a list of members (nn/members.h) or a function `parameters()`, from which the parameters come whose
// bits are compared at the end. `make` takes Settings or a type derived from it, which may list more options.
//
// With --checkpoint a run keeps in a file what the list of members has, and with --resume another process goes on from
// there with the same bits. So the list has all that a step changes: layers, optimisers and their schedules, the place
// in the data, the states of a recurrent network. The default generator is kept in any case; gradients are not, so that a
// step that adds to those of an earlier one cannot be resumed. Before the run starts, a training that is made for this
// alone repeats two steps, and an Error says if the list lacks something that they need.
//
// Call it first in main(), before any other thread is started. Returns the exit status: 0; 1 if a run failed, a file or
// standard output could not be written; 2 for bad input.
template <class Make, class Step, class Report = NoReport>
int main(int argc, char** argv, Make make, Step step, Report report = {}) {
  static_assert(
      requires { std::function(make); }, "`make` is a function or a lambda whose parameter has a type, not auto");
  using Of = main_detail::SettingsOf<decltype(std::function(make))>;
  typename Of::type settings;
  main_detail::Program program{.settings = settings};
  if constexpr (Of::are_taken) program.options("batch-size", settings.batch_size, "Number of samples in a batch");
  if constexpr (requires { settings.options(program.options); }) {
    settings.options(program.options);
  } else {
    static_assert(!main_detail::NamesOptions<typename Of::type>,
                  "`options` of your settings is `void options(ag::experiment::Options& o)`, which is public");
  }
  program.make = [&] {
    if constexpr (Of::are_taken) {
      return main_detail::training([&] { return make(std::as_const(settings)); }, step, report);
    } else {
      return main_detail::training(make, step, report);
    }
  };
  return main_detail::run(argc, argv, program);
}

}  // namespace asyncgrad::experiment
