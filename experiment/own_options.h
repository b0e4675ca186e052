// The options of a program's own on the command line, and in the results.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/experiment/command_line.h"
#include "asyncgrad/experiment/measurement.h"
#include "asyncgrad/experiment/settings.h"

namespace asyncgrad::experiment {

class OwnOptions {
 public:
  // Declares them. Throws Error for a name that another option or a figure of the results has.
  OwnOptions(CommandLine& line, const Options& options);

  // After the command line was parsed: sets what was given. Throws BadInput.
  void apply() const;
  // By name, as "batch_size" for --batch-size.
  std::vector<std::pair<std::string, OptionValue>> values() const;

 private:
  struct Given {
    std::optional<std::string> text;
    bool is_set = false;
  };
  const Options& options_;
  std::deque<Given> given_;  // one for each option; they stay where they are
};

}  // namespace asyncgrad::experiment
