// The command line of an example that compares runs of one training loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "asyncgrad/core/device.h"
#include "examples/support/run_kind.h"

namespace support {

// The settings that all runs share.
struct Settings {
  int batches = 150;
  std::int64_t batch_size = 1024;
  std::vector<std::int64_t> hidden{2048, 512};  // widths of the two hidden layers; empty: they cannot be chosen
  double lr = 0.01;
  std::uint64_t seed = 0;
  int workers = 0;  // 0: as many as the library takes by itself
  asyncgrad::Device device;
  std::string math = "float32";  // or bf16: how products read their operands
  std::string trace{};           // file for a trace of all operations; empty: none
  bool explain = false;          // print how the time divides among the operations
};

// Everything that a training loop has to know.
struct Run : RunKind, Settings {};

struct Options {
  std::vector<Run> runs{};
  std::optional<int> repeat{};  // how often the program goes through the list, if given
  std::string json{}, plot{};   // files to write
  bool dry_run = false;         // shapes only: nothing is trained
  bool default_files = true;    // json or plot has its default name: the program makes the folder of these names
  std::string measured_run{};   // not empty: this process does this run alone, for the process that started it
  std::string help{};           // not empty: the help was asked for, and this is its text
};

// Throws BadInput. `program` names the default files, results/PROGRAM.json and .svg.
Options parse_options(const std::string& program, int argc, const char* const* argv, const Settings& defaults = {});

// The hidden option that sets `measured_run`.
inline constexpr const char* measured_run_option = "--measured-run";

}  // namespace support
