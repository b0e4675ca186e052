#include "asyncgrad/core/wait_hooks.h"

#include <atomic>

namespace asyncgrad {

namespace detail {

namespace {

constinit std::atomic<const WaitHooks*> hooks_in_force{nullptr};
constinit std::atomic<int> abandoned{0};  // of operations; read by the thread that ends the process
constinit thread_local int uninterrupted = 0;

}  // namespace

const WaitHooks* wait_hooks() { return hooks_in_force.load(std::memory_order_acquire); }

int abandoned_operations() { return abandoned.load(std::memory_order_acquire); }

Uninterrupted::Uninterrupted() { ++uninterrupted; }
Uninterrupted::~Uninterrupted() { --uninterrupted; }
bool may_interrupt() { return uninterrupted == 0; }

}  // namespace detail

void abandon_operations(int count) { detail::abandoned.fetch_add(count, std::memory_order_acq_rel); }

void set_wait_hooks(const WaitHooks* hooks) { detail::hooks_in_force.store(hooks, std::memory_order_release); }

}  // namespace asyncgrad
