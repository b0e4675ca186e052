// The options that a program adds to its command line.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace asyncgrad::experiment {

// Lists the options that a program adds, as Members lists the members of a layer. `name` is "lr" for --lr; it is in the
// results, too. `value` holds the default, which --help shows, and then what the user gave. `description` is for
// --help. A user may give
//   - for an int or a std::int64_t: a whole number from 1 to 2147483647;
//   - for a double: a finite number that is not negative;
//   - for a std::vector<std::int64_t>: as many of these whole numbers as the default has, with commas between them;
//   - for a std::string: any text;
//   - for a bool: nothing; --name sets it to true, --no-name to false.
class Options {
 public:
  Options() = default;
  Options(const Options&) = delete;  // a copy would list options that nobody sees
  Options& operator=(const Options&) = delete;

  using Place = std::variant<int*, std::int64_t*, double*, bool*, std::string*, std::vector<std::int64_t>*>;
  struct Row {
    std::string name, description;
    Place value;
  };

  template <class T>
  requires std::constructible_from<Place, T*>
  void operator()(std::string_view name, T& value, std::string_view description) {
    rows_.push_back({std::string(name), std::string(description), &value});
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

}  // namespace asyncgrad::experiment
