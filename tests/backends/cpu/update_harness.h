// One step of an optimiser's kernel on a group of parameters, for every rule of the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "asyncgrad/core/backend/attributes/update.h"
#include "tests/backends/cpu/kernel_runner.h"
#include "tests/backends/each_formula.h"
#include "tests/support/sanitizer.h"

namespace asyncgrad::detail {

// Calls function.operator()<Rule, T>() for every rule and both floating types.
template <class Function>
void for_every_rule(Function function) {
  const auto both = [&]<class Rule>() {
    SCOPED_TRACE(testing::Message() << Rule::name << " with " << Rule::states.size() << " states");
    function.template operator()<Rule, float>();
    if (!tests::looks_for_races) function.template operator()<Rule, double>();
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (both.template operator()<std::tuple_element_t<I, rules::Rules>>(), ...);
  }
  (std::make_index_sequence<rules::count>());
}

// Numbers that are options of every rule: a learning rate, and shares.
template <class Rule>
UpdateAttributes some_attributes() {
  constexpr std::array<double, max_update_options> numbers{0.1, 0.9, 0.8, 0.25, 0.01, 0.02};
  UpdateAttributes attributes{.rule = static_cast<std::uint8_t>(rules::id<Rule>())};
  std::copy_n(numbers.begin(), update_options<Rule>, attributes.options.begin());
  return attributes;
}

// The operands of a step, random, each list for parameters of these shapes. Each parameter has done one step more than
// the one before it.
template <class Rule, class T>
struct UpdateLists {
  static constexpr std::size_t arrays = 1 + Rule::states.size();

  explicit UpdateLists(std::vector<Shape> shapes) : shapes(std::move(shapes)) {
    unsigned seed = 0;
    std::int64_t steps = 0;
    for (const Shape& shape : this->shapes) {
      for (std::size_t k = 0; k < arrays; ++k) {
        updated[k].push_back(random_values<T>(shape.numel(), ++seed, k == 0 ? -3 : 0, 3));
      }
      counts.emplace_back(static_cast<std::size_t>(update_counts(shape.numel())), steps++);
      gradients.push_back(random_values<T>(shape.numel(), ++seed));
    }
  }

  UpdateAttributes attributes() const {
    UpdateAttributes attributes = some_attributes<Rule>();
    attributes.count = static_cast<std::int32_t>(shapes.size());
    return attributes;
  }

  // The same step, an element at a time.
  void step_plainly() {
    const UpdateAttributes a = attributes();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      for (std::int64_t& count : counts[i]) ++count;
      if (counts[i].empty()) continue;
      const auto exact = update_numbers<Rule>(a, counts[i][0]);
      std::array<T, exact.size()> numbers;
      for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<T>(exact[k]);
      for (std::size_t j = 0; j < gradients[i].size(); ++j) step_element(numbers, i, j);
    }
  }

  std::vector<Shape> shapes;
  std::array<std::vector<std::vector<T>>, arrays> updated;
  std::vector<std::vector<std::int64_t>> counts;
  std::vector<std::vector<T>> gradients;

 private:
  void step_element(const auto& numbers, std::size_t i, std::size_t j) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      const auto results = Rule::apply(PlainMath<T>(), numbers, gradients[i][j], updated[K][i][j]...);
      ((updated[K][i][j] = std::get<K>(results)), ...);
    }
    (std::make_index_sequence<arrays>());
  }
};

}  // namespace asyncgrad::detail
