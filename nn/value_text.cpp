#include "asyncgrad/nn/value_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>

namespace asyncgrad::nn {

namespace {

// How a text for a value of this type begins.
template <class T>
constexpr std::string_view kind_of() {
  if constexpr (std::is_same_v<T, bool>) return "flag ";
  if constexpr (std::is_integral_v<T>) return "integer ";
  if constexpr (std::is_same_v<T, double>) return "number ";
  if constexpr (std::is_same_v<T, std::string>) return "text ";
  return "random ";
}

// Takes a number off the front of `text`. Returns false if there is none, or if it does not fit.
template <class T>
bool take_number(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

template <class T>
std::optional<Contents> read(std::string_view text) {
  if constexpr (std::is_same_v<T, std::string>) return std::string(text);
  if constexpr (std::is_same_v<T, bool>) {
    return text == "true" || text == "false" ? std::optional<Contents>(text == "true") : std::nullopt;
  }
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    T number{};
    return take_number(text, number) && text.empty() ? std::optional<Contents>(number) : std::nullopt;
  }
  if constexpr (std::is_same_v<T, Generator>) {
    std::uint64_t seed = 0, place = 0;
    if (!take_number(text, seed) || !text.starts_with(' ')) return std::nullopt;
    text.remove_prefix(1);
    return take_number(text, place) && text.empty() ? std::optional<Contents>(Generator(seed, place)) : std::nullopt;
  }
}

}  // namespace

std::string text_of(const Value& value) {
  return std::visit(
      []<class T>(const T* at) {
        if constexpr (std::is_same_v<T, Generator>) {
          return fmt::format("{}{} {}", kind_of<T>(), at->seed(), at->place());
        } else {
          return fmt::format("{}{}", kind_of<T>(), *at);
        }
      },
      value);
}

std::optional<Contents> contents_of(std::string_view text, const Value& value) {
  return std::visit(
      [&]<class T>(const T*) -> std::optional<Contents> {
        if (!text.starts_with(kind_of<T>())) return std::nullopt;
        return read<T>(text.substr(kind_of<T>().size()));
      },
      value);
}

bool is_not_negative(const Contents& contents) {
  return std::visit(
      []<class T>(const T& number) {
        if constexpr (std::is_same_v<T, double>) return std::isfinite(number) && number >= 0;
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return number >= 0;
        return false;
      },
      contents);
}

void assign(const Value& value, const Contents& contents) {
  std::visit([&]<class T>(T* at) { *at = std::get<T>(contents); }, value);
}

}  // namespace asyncgrad::nn
