#include "asyncgrad/core/wait_hooks.h"

#include <atomic>

namespace asyncgrad {

namespace detail {

namespace {

constinit std::atomic<const WaitHooks*> hooks_in_force{nullptr};
constinit thread_local int uninterrupted = 0;

}  // namespace

const WaitHooks* wait_hooks() { return hooks_in_force.load(std::memory_order_acquire); }

Uninterrupted::Uninterrupted() { ++uninterrupted; }
Uninterrupted::~Uninterrupted() { --uninterrupted; }
bool may_interrupt() { return uninterrupted == 0; }

}  // namespace detail

void set_wait_hooks(const WaitHooks* hooks) { detail::hooks_in_force.store(hooks, std::memory_order_release); }

}  // namespace asyncgrad
