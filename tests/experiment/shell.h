// Runs programs under conditions that a shell sets.
#pragma once

#include <string>
#include <vector>

#include "asyncgrad/experiment/process.h"

namespace asyncgrad::experiment {

// Runs the program with its arguments in a shell after `before`, which may set limits, and with the redirections
// `after`; keeps the output of standard error, or of another file.
inline Outcome run_in_shell(const std::vector<std::string>& program, const std::string& after,
                            const std::string& before = "", int captured = 2) {
  Command command{.arguments = {"sh", "-c", before + "\nexec \"$0\" \"$@\" " + after}, .captured = captured};
  command.arguments.insert(command.arguments.end(), program.begin(), program.end());
  return run_process(command);
}

}  // namespace asyncgrad::experiment
