// Values among members as texts in a file. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// "integer 5", "flag true", "number 0.1", "text hello", "random 7 123": the type of the value and all of its bits,
// except those that distinguish one NaN from another. A generator's text has its seed and its place.
std::string text_of(const Value& value);

// The value that a text stands for, of the same type as `value`. Returns nothing if the text stands for no value of
// that type.
using Contents = std::variant<std::int64_t, int, bool, double, std::string, Generator>;
std::optional<Contents> contents_of(std::string_view text, const Value& value);

// Whether it is a number that is finite and not negative.
bool is_not_negative(const Contents& contents);

// The type of `value` and of `contents` is the same.
void assign(const Value& value, const Contents& contents);

}  // namespace asyncgrad::nn
