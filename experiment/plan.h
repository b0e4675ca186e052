// The command line of a program that compares runs of one training.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/experiment/measurement.h"
#include "asyncgrad/experiment/options.h"
#include "asyncgrad/experiment/run_kind.h"
#include "asyncgrad/experiment/settings.h"

namespace asyncgrad::experiment {

// One run: its kind, and what all runs share.
struct Run : RunKind, Settings {
  std::vector<std::pair<std::string, OptionValue>> own{};  // the program's own options, by name, as "batch_size"
  std::string trace{};                                     // file for a trace of all operations; empty: none
  bool explain = false;                                    // print how the time divides among the operations
  std::string checkpoint{}, resume{};                      // files that keep the training; empty: none
  int checkpoint_every = 0;                                // keep it after so many batches; 0: after the last one only
  int stop_after = 0;                                      // end after so many of the batches; 0: after all of them

  int end() const { return stop_after > 0 ? stop_after : batches; }
};

struct Plan {
  std::vector<Run> runs{};
  std::optional<int> repeat{};  // how often the program goes through the list, if given
  std::string json{}, plot{};   // files to write
  bool dry_run = false;         // shapes only: nothing is trained
  bool default_files = true;    // json or plot has its default name: the program makes the folder of these names
  std::string measured_run{};   // not empty: this process does this run alone, for the process that started it
  std::string help{};           // not empty: the help was asked for, and this is its text
};

// Reads the command line. `settings` and the places of `own` have the defaults, and get what was given. Throws
// BadInput. `program` names the default files, results/PROGRAM.json and .svg.
Plan parse_plan(const std::string& program, int argc, const char* const* argv, Settings& settings,
                const Options& own = {});

// The most batches in a run, and the most repetitions.
inline constexpr std::int64_t max_batches = std::numeric_limits<std::int32_t>::max(), max_repeat = 1'000'000;

// The names of the runs that a program does by default, with commas between them.
inline constexpr const char* default_runs =
    "immediate,batch,in-flight:1,in-flight:2,none,none:unbounded,none:first_ready";

// The hidden option that sets `measured_run`.
inline constexpr const char* measured_run_option = "--measured-run";

}  // namespace asyncgrad::experiment
