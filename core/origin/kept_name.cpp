#include "asyncgrad/core/origin/kept_name.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::detail {

namespace {

class Names {
 public:
  const char* keep(std::string_view name) {
    const MutexLock lock(mutex_);
    const auto found = names_.find(name);
    return (found != names_.end() ? *found : *names_.emplace(name).first).c_str();
  }

 private:
  Mutex mutex_;
  std::set<std::string, std::less<>> names_ ASYNCGRAD_GUARDED_BY(mutex_);
};

}  // namespace

const char* kept_name(const char* operation, std::string_view name) {
  // A program calls with the same literal again and again.
  constinit thread_local struct {
    const char* given = nullptr;
    std::string_view kept;
  } last;
  if (name.data() == last.given && name == last.kept) return last.kept.data();
  constexpr std::size_t most = 100;
  if (name.empty()) throw_error(operation, "the name is empty");
  if (name.size() > most)
    throw_error(operation, fmt::format("the name has {} characters, more than {}", name.size(), most));
  static Names* const names = new Names;  // never destroyed: errors at exit still name operations
  last = {name.data(), names->keep(name)};
  return last.kept.data();
}

}  // namespace asyncgrad::detail
