#include "examples/support/command_line.h"

#include <CLI/CLI.hpp>

#include "examples/support/parse.h"

namespace support {

std::string parse_command_line(CLI::App& app, int argc, const char* const* argv) {
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
