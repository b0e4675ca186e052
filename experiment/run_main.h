// The common part of main() of every example.
#pragma once

#include <functional>
#include <string>

namespace asyncgrad::experiment {

// Runs `body`, which takes the program's name and returns its exit status, and returns the status of the program: that
// of `body`; 2 if it throws BadInput; 1 if it throws anything else, or if not all of standard output could be written.
// Each error is printed on standard error, and so is the engine's report on each SIGUSR1.
int run_main(int argc, char** argv, const std::function<int(const std::string& program)>& body);

}  // namespace asyncgrad::experiment
