// Checks of the numbers that layers and optimisers are given. Internal.
#pragma once

namespace asyncgrad {

// Throws Error, naming the operation and the option, unless the value is finite and not negative.
void check_not_negative(const char* operation, const char* what, double value);
// The same unless it is less than 1, too.
void check_part(const char* operation, const char* what, double value);

}  // namespace asyncgrad
