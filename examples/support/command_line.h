// What the programs' command lines have in common.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace support {

// Fills the app's options. Returns the help if that is what was asked for, else nothing. Throws BadInput for what is
// not among the options.
std::string parse_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace support
