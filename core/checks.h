// Checks of the numbers that layers and optimisers are given. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad {

namespace detail {
// Throws Error for a tensor that holds nothing.
[[noreturn]] void throw_undefined(const char* operation);
}  // namespace detail

// Throws Error, which names the operation and the option, unless the value is finite and not negative.
void check_not_negative(const char* operation, const char* what, double value);
// The same unless it is less than 1, too.
void check_part(const char* operation, const char* what, double value);

// Throws Error unless the value is at least 1.
void check_at_least_one(const char* operation, const char* what, std::int64_t value);

}  // namespace asyncgrad
