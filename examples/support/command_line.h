// What the programs' command lines have in common.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace support {

// Fills the app's options. Returns the help if it was asked for, else an empty text. Throws BadInput for an argument
// that is not among the options.
std::string parse_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace support
