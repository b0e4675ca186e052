#include "examples/support/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "examples/support/parse.h"

namespace support {

std::string parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  // CLI11 takes a "--" and every program refuses what could follow it, so it can only be a mistake.
  if (std::any_of(argv + std::min(argc, 1), argv + argc, [](std::string_view word) { return word == "--"; })) {
    throw BadInput("'--' is not an option of this program, and no argument may follow it");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {
    throw BadInput(error.what());
  }
  return {};
}

}  // namespace support
