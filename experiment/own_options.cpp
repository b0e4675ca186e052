#include "asyncgrad/experiment/own_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>

#include "asyncgrad/core/error.h"
#include "asyncgrad/experiment/parse.h"

namespace asyncgrad::experiment {

namespace {

constexpr std::int64_t max_whole = std::numeric_limits<std::int32_t>::max();

std::string name_in_results(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

bool is_taken(const std::string& name) {
  bool taken = false;
  Measurement measurement;
  visit_members(
      measurement, [&](const char* member, const auto&) { taken = taken || name == member; }, [](const auto&) {});
  return taken;
}

OptionValue value_at(const Options::Place& place) {
  return std::visit(
      [](const auto* value) -> OptionValue {
        if constexpr (std::is_same_v<decltype(value), const int*>) {
          return std::int64_t{*value};
        } else {
          return *value;
        }
      },
      place);
}

// How the value is shown in the help: N, X, "N,N".
std::string type_of(const Options::Place& place) {
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>*>(&place)) {
    return fmt::format("{}", fmt::join(std::vector<std::string>((*numbers)->size(), "N"), ","));
  }
  if (std::holds_alternative<double*>(place)) return "X";
  return std::holds_alternative<std::string*>(place) ? "TEXT" : "N";
}

// --- Each kind of value from its text.

void set(int& value, const std::string& option, const std::string& text) {
  value = static_cast<int>(parse_whole(option, text, 1, max_whole));
}
void set(std::int64_t& value, const std::string& option, const std::string& text) {
  value = parse_whole(option, text, 1, max_whole);
}
void set(double& value, const std::string& option, const std::string& text) { value = parse_rate(option, text); }
void set(bool& value, const std::string&, const std::string& text) { value = text == "true"; }
void set(std::string& value, const std::string&, const std::string& text) { value = text; }
void set(std::vector<std::int64_t>& values, const std::string& option, const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() != values.size()) {
    reject(option, text, fmt::format("{} numbers, like {}", values.size(), text_of(OptionValue(values))));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) values[i] = parse_whole(option, parts[i], 1, max_whole);
}

}  // namespace

OwnOptions::OwnOptions(CommandLine& line, const Options& options) : options_(options), given_(options.rows().size()) {
  std::set<std::string> names;
  auto given = given_.begin();
  for (const auto& [name, description, value] : options.rows()) {
    if (is_taken(name_in_results(name)) || !names.insert(name_in_results(name)).second) {
      throw_error("experiment", fmt::format("an option cannot be called {}, as another name of the results is", name));
    }
    const std::string help = fmt::format("{}. Default: {}", description, text_of(value_at(value)));
    if (std::holds_alternative<bool*>(value)) {
      line.switches(name, *given, help);
    } else {
      line.option("--" + name, type_of(value), *given, help);
    }
    ++given;
  }
}

void OwnOptions::apply() const {
  auto given = given_.begin();
  for (const auto& [name, description, place] : options_.rows()) {
    if (*given) std::visit([&](auto* value) { set(*value, "--" + name, **given); }, place);
    ++given;
  }
}

std::vector<std::pair<std::string, OptionValue>> OwnOptions::values() const {
  std::vector<std::pair<std::string, OptionValue>> values;
  for (const Options::Row& row : options_.rows()) values.emplace_back(name_in_results(row.name), value_at(row.value));
  return values;
}

}  // namespace asyncgrad::experiment
