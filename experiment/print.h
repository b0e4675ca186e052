// Text on standard output and standard error. No function here throws: a program saves its results first, and
// run_main() turns lost text into an error at the end. One thread prints; any thread may complain.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace asyncgrad::experiment {

void write_output(std::string_view text);
void write_error(std::string_view text);

// Prints on standard output, at once.
template <class... Args>
void print(fmt::format_string<Args...> text, Args&&... args) {
  write_output(fmt::format(text, std::forward<Args>(args)...));
}

// Prints on standard error.
template <class... Args>
void print_error(fmt::format_string<Args...> text, Args&&... args) {
  write_error(fmt::format(text, std::forward<Args>(args)...));
}

// Why some of the output so far was lost, std::cout included; empty if all of it was written.
std::string output_failure();

}  // namespace asyncgrad::experiment
