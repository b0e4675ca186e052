#include "asyncgrad/dist/world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <mutex>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/dist/communicator.h"
#include "asyncgrad/dist/launch.h"

namespace asyncgrad::dist {

namespace {

std::mutex making;
// The world that was made first; never destroyed, as static tensors may outlive main. Under the lock.
World* made = nullptr;

// The engine has ended before: what it has begun is over, and what it has dropped is unfinished. Of a process that was
// forked, the world is its parent's.
void end_at_exit() {
  if (made != nullptr && made->size() > 1) made->communicator()->end();
}

// The process that was started: a child of it by fork has the same environment, and is no rank.
const pid_t started = getpid();

World connected(const WorldOptions& options) {
  const Launch launch = launch_of_process();
  if (launch.library.empty() || launch.size == 1) return {};
  return World(std::make_shared<Communicator>([launch] { return connect(launch); }, options.timeout_s));
}

}  // namespace

World::World(std::shared_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)), rank_(communicator_->rank()), size_(communicator_->size()) {}

World world(WorldOptions options, Location where) {
  const CallSite site(where);
  if (!(options.timeout_s > 0) || !std::isfinite(options.timeout_s)) {
    throw_error("world", fmt::format("timeout_s must be a positive number of seconds, got {}", options.timeout_s));
  }
  // Before the lock, which may be held for ever.
  if (getpid() != started && !launch_of_process().library.empty()) refuse_child("world");
  const std::lock_guard lock(making);
  if (made == nullptr) {
    made = new World(connected(options));
    // After MPI has registered its own handlers, so that this one comes first.
    if (made->size() > 1 && std::atexit(end_at_exit) != 0) throw std::bad_alloc();
  }
  if (made->communicator() != nullptr) {
    made->communicator()->check("world");
    made->communicator()->set_timeout(options.timeout_s);
  }
  return *made;
}

}  // namespace asyncgrad::dist
