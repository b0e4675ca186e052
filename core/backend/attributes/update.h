// The attributes of an optimiser's step, and a description of its rule at run time. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "asyncgrad/core/backend/round_up.h"
#include "asyncgrad/core/backend/update_rules.h"

namespace asyncgrad::detail {

// The largest numbers that any rule has.
inline constexpr std::size_t max_update_arrays = 4, max_update_options = 6, max_update_numbers = 9;

struct UpdateAttributes {
  std::array<double, max_update_options> options{};  // the rule's Options, of which the learning rate is the first
  std::int32_t count = 0;                            // of parameters
  std::uint8_t rule = 0;                             // rules::id
  std::array<std::uint8_t, 3> padding{};
};

// The Options of a rule as numbers.
template <class Rule>
inline constexpr std::size_t update_options = sizeof(typename Rule::Options) / sizeof(double);

template <class Rule>
constexpr UpdateAttributes update_by(const typename Rule::Options& options) {
  UpdateAttributes attributes{.rule = static_cast<std::uint8_t>(rules::id<Rule>())};
  std::ranges::copy(std::bit_cast<std::array<double, update_options<Rule>>>(options), attributes.options.begin());
  return attributes;
}

// Counts of steps are values beside the other states, not attributes, so that a step that fails does not count. Each
// block of this many elements of a parameter has its own count; together they are update_counts(numel) int64. A kernel
// whose tiles end at these blocks has no tile that writes what another one reads.
inline constexpr std::int64_t elements_per_count = 65536;
constexpr std::int64_t update_counts(std::int64_t numel) { return divided_up(numel, elements_per_count); }

// The numbers of a rule's formula at a step, counted from 1. constexpr, so that a GPU's kernels may call it.
template <class Rule>
constexpr auto update_numbers(const UpdateAttributes& attributes, std::int64_t step) {
  std::array<double, update_options<Rule>> options{};
  for (std::size_t i = 0; i < options.size(); ++i) options[i] = attributes.options[i];
  return Rule::numbers(std::bit_cast<typename Rule::Options>(options), step);
}

// A row of the table of rules, for code that does not know the rule at compile time.
struct UpdateRule {
  const char* name;
  std::span<const char* const> states;
  bool counts_steps;
  // The rule's own numbers come first.
  std::array<double, max_update_numbers> (*numbers)(const UpdateAttributes& attributes, std::int64_t step);

  // Arrays of the parameter's shape: the parameter and its states.
  std::size_t arrays() const { return 1 + states.size(); }
};

template <class Rule>
constexpr UpdateRule update_rule() {
  static_assert(Rule::states.size() < max_update_arrays && update_options<Rule> <= max_update_options);
  constexpr auto numbers = [](const UpdateAttributes& attributes, std::int64_t step) {
    const auto found = update_numbers<Rule>(attributes, step);
    static_assert(found.size() <= max_update_numbers);
    std::array<double, max_update_numbers> all{};
    std::ranges::copy(found, all.begin());
    return all;
  };
  return {Rule::name, Rule::states, Rule::counts_steps, numbers};
}
inline constexpr auto update_rules = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{update_rule<std::tuple_element_t<I, rules::Rules>>()...};
}
(std::make_index_sequence<rules::count>());
inline const UpdateRule& rule_of(const UpdateAttributes& attributes) { return update_rules[attributes.rule]; }

}  // namespace asyncgrad::detail
