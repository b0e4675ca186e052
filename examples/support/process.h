// Starts other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace support {

struct Command {
  std::vector<std::string> arguments;  // the program first: a path, or a name that PATH is searched for
  std::optional<std::string> input{};  // what it reads on standard input; else it has ours
  int captured = 1;                    // its file descriptor whose output is kept; the others are ours
};

struct Outcome {
  bool started = false;  // false: there is no such program, or the system refused
  int exit_status = 0;
  int signal = 0;  // that ended it; 0: none
  std::string output{};

  bool good() const { return started && exit_status == 0 && signal == 0; }
  // "ended with exit status 1", "was ended by signal 9 (Killed)", "could not be started".
  std::string what() const;
};

// Runs a program to its end and blocks until then. If this process gets SIGINT or SIGTERM meanwhile, the program is
// killed and this process ends with status 128 + signal. One thread at a time. Throws std::system_error if the system
// has no files left.
Outcome run_process(const Command& command);

// Writes all of it. Throws std::system_error.
void write_all(int file, const std::string& text);

}  // namespace support
