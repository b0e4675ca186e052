// Names that the program gives to operations. Internal.
#pragma once

#include <string_view>

namespace asyncgrad::detail {

// The name, which is never freed, so that messages and profiles may refer to it: there are as many as the program has
// different ones. Throws Error in the name of `operation` for an empty name, or one of more than 100 characters.
const char* kept_name(const char* operation, std::string_view name);

}  // namespace asyncgrad::detail
