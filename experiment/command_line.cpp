// The one source that includes CLI11, which takes seconds to compile.
#include "asyncgrad/experiment/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "asyncgrad/core/error.h"
#include "asyncgrad/experiment/bad_input.h"

namespace asyncgrad::experiment {

class CommandLine::App : public CLI::App {
 public:
  using CLI::App::App;

  // CLI11 refuses a name that is taken or that can be none.
  template <class Add>
  static CLI::Option* added(const Add& add) {
    try {
      return add();
    } catch (const CLI::ConstructionError& error) {
      throw_error("experiment", std::string("an option of the command line: ") + error.what());
    }
  }
};

CommandLine::CommandLine(const std::string& program, const std::string& description)
    : app_(std::make_unique<App>(description, program)) {
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CommandLine::~CommandLine() = default;

void CommandLine::option(const std::string& name, const std::string& type, std::optional<std::string>& value,
                         const std::string& description) {
  CLI::Option* const option = App::added([&] { return app_->add_option(name, value, description); });
  if (type.empty()) {
    option->group("");
  } else {
    option->type_name(type);
  }
}

void CommandLine::flag(const std::string& name, bool& is_given, const std::string& description) {
  App::added([&] { return app_->add_flag(name, is_given, description)->disable_flag_override(); });
}

void CommandLine::switches(const std::string& name, std::optional<std::string>& value, const std::string& description) {
  const std::string names = "--" + name + ",!--no-" + name;
  App::added([&] { return app_->add_flag(names, value, description)->disable_flag_override(); });
}

std::string CommandLine::parse(int argc, const char* const* argv) {
  // CLI11 takes a "--" and every program refuses what could follow it, so it can only be a mistake.
  if (std::any_of(argv + std::min(argc, 1), argv + argc, [](std::string_view word) { return word == "--"; })) {
    throw BadInput("'--' is not an option of this program, and no argument may follow it");
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::string help = app_->help();
    help.resize(help.find_last_not_of('\n') + 1);
    return help + '\n';
  } catch (const CLI::ParseError& error) {
    throw BadInput(error.what());
  }
  return {};
}

}  // namespace asyncgrad::experiment
