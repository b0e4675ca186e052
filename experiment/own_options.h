// The options of a program's own on the command line, and in the results.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/experiment/command_line.h"
#include "asyncgrad/experiment/measurement.h"
#include "asyncgrad/experiment/options.h"

namespace asyncgrad::experiment {

class OwnOptions {
 public:
  // Declares them. Throws Error for a name that another option or a figure of the results has.
  OwnOptions(CommandLine& line, const Options& options);

  // Called after the command line was parsed: sets the options that were given. Throws BadInput.
  void apply() const;
  // The options by name, such as "batch_size" for --batch-size.
  std::vector<std::pair<std::string, OptionValue>> values() const;

 private:
  const Options& options_;
  std::deque<std::optional<std::string>> given_;  // one for each option; they stay where they are
};

}  // namespace asyncgrad::experiment
