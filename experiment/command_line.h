// A program's command line.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace asyncgrad::experiment {

// Declares options, then reads them. If an option is given twice, the last one counts. The functions of parse.h read
// numbers.
class CommandLine {
 public:
  // For the help.
  CommandLine(const std::string& program, const std::string& description);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // `name` is "--lr". `type` stands for the value in the help; an option without a type is not in the help. `value`
  // stays empty where the option is not given. Throws Error if there is such an option already.
  void option(const std::string& name, const std::string& type, std::optional<std::string>& value,
              const std::string& description);
  // An option without a value, which sets `is_given`.
  void flag(const std::string& name, bool& is_given, const std::string& description);
  // Two options without a value: for "slow" --slow, which sets `value` to "true", and --no-slow, which sets it to
  // "false".
  void switches(const std::string& name, std::optional<std::string>& value, const std::string& description);

  // Returns the help if it was asked for, else an empty text. Throws BadInput for an argument that is not among the
  // options.
  std::string parse(int argc, const char* const* argv);

 private:
  class App;
  std::unique_ptr<App> app_;
};

}  // namespace asyncgrad::experiment
