#include "asyncgrad/core/origin/kept_name.h"

#include <fmt/format.h>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/origin/names.h"

namespace asyncgrad::detail {

const char* kept_name(const char* operation, std::string_view name) {
  // A program usually passes the same literal again and again.
  constinit thread_local struct {
    const char* given = nullptr;
    std::string_view kept;
  } last;
  if (name.data() == last.given && name == last.kept) return last.kept.data();
  constexpr std::size_t max_length = 100;
  if (name.empty()) throw_error(operation, "the name is empty");
  if (name.size() > max_length)
    throw_error(operation, fmt::format("the name has {} characters, more than {}", name.size(), max_length));
  last = {name.data(), Names::get().name(Names::get().id(0, name))};
  return last.kept.data();
}

}  // namespace asyncgrad::detail
