#include "asyncgrad/experiment/measurement.h"

#include <fmt/format.h>

namespace asyncgrad::experiment {

namespace {

template <class T>
std::string text_of_one(const T& value) {
  return fmt::format("{}", value);
}
std::string text_of_one(const std::vector<std::int64_t>& values) { return fmt::format("{}", fmt::join(values, ",")); }

}  // namespace

std::string text_of(const OptionValue& value) {
  return std::visit([](const auto& one) { return text_of_one(one); }, value);
}

}  // namespace asyncgrad::experiment
