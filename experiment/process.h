// Starts other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace asyncgrad::experiment {

struct Command {
  std::vector<std::string> arguments;  // the program first: a path, or a name that is looked up in PATH
  std::string file{};                  // the program's file where arguments[0] is only its name; empty: arguments[0]
  std::optional<std::string> input{};  // what it reads on standard input; without it, it shares ours
  int captured = 1;                    // its file descriptor whose output is kept; it shares the others with us
};

struct Outcome {
  bool started = false;  // false: there is no such program, or the system refused to start it
  int exit_status = 0;
  int signal = 0;  // the signal that ended it; 0: none
  std::string output{};

  bool good() const { return started && exit_status == 0 && signal == 0; }
  // "ended with exit status 1", "was ended by signal 9 (Killed)", "could not be started".
  std::string what() const;
};

// Runs a program to its end and blocks until then. If this process gets SIGINT or SIGTERM meanwhile, the program is
// killed and this process ends with status 128 + signal; these signals' handlers, and SIGCHLD's default, stay. One
// thread at a time may call it. Throws std::system_error if the system has no files left.
Outcome run_process(const Command& command);

}  // namespace asyncgrad::experiment
