#include "asyncgrad/core/warnings.h"

#include <fmt/format.h>

#include <atomic>
#include <iostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/origin/origin.h"
#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/warn.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

namespace detail {

namespace {

constinit std::atomic<bool> are_on{true};  // relaxed: a setting

// What a line has been warned of: the operation, the file, the line.
using Given = std::tuple<std::string, std::string, int>;

struct State {
  Mutex lock;
  std::set<Given> given ASYNCGRAD_GUARDED_BY(lock);
  WarningHandler handler ASYNCGRAD_GUARDED_BY(lock);
};

// Never destroyed, because warnings may come while the process ends.
State& made_state() {
  static State* const made = [] {
    auto* const state = new State;
    ForkLocks::add(state->lock, ForkLocks::Kind::inner);
    return state;
  }();
  return *made;
}
const bool has_state = made_at_load(made_state);

void print(const Warning& warning) {
  std::cerr << fmt::format("warning: {} ({} switches warnings off)\n", warning.str(),
                           in_program("ag::set_warnings(false)", "ag.set_warnings(False)"));
}

}  // namespace

void warn(std::string_view operation, std::string_view message) {
  Origin origin;
  origin.where = CallSite::current();
  origin.path = current_layer_path();
  warn(operation, message, origin);
}

void warn(std::string_view operation, std::string_view message, const Origin& origin) {
  if (!warnings_are_on() || is_in_backward()) return;
  const Location& where = origin.where;
  const Warning warning{.operation = std::string(operation),
                        .message = std::string(message),
                        .file = where.file == nullptr ? "" : where.file,
                        .line = where.line,
                        .layer = layer_path_name(origin.path)};
  const Given key(warning.operation, warning.file, warning.line);
  State& state = made_state();
  WarningHandler handler;
  {
    const MutexLock lock(state.lock);
    if (!state.given.insert(key).second) return;
    handler = state.handler;
  }
  if (handler == nullptr) return print(warning);
  try {
    handler(warning);
  } catch (...) {
    const MutexLock lock(state.lock);
    state.given.erase(key);
    throw;
  }
}

}  // namespace detail

void set_warnings(bool on) { detail::are_on.store(on, std::memory_order_relaxed); }
bool warnings_are_on() { return detail::are_on.load(std::memory_order_relaxed); }

WarningHandler set_warning_handler(WarningHandler handler) {
  detail::State& state = detail::made_state();
  const detail::MutexLock lock(state.lock);
  return std::exchange(state.handler, std::move(handler));
}

std::string Warning::str() const {
  const std::string at = file.empty() ? "" : ", at " + Location{file.c_str(), line}.str();
  return fmt::format("[{}] {}{}{}", operation, message, at, layer.empty() ? "" : ", in layer " + layer);
}

}  // namespace asyncgrad
