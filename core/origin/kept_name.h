// Names that the program gives to operations. Internal.
#pragma once

#include <string_view>

namespace asyncgrad::detail {

// Returns a copy of the name that is never freed, so that messages and profiles may refer to it. There is one copy of
// each different name, and Names bounds how many there are. Throws Error in the name of `operation` for an empty name,
// or one of more than 100 characters.
const char* kept_name(const char* operation, std::string_view name);

}  // namespace asyncgrad::detail
