#include "asyncgrad/core/forks.h"

namespace asyncgrad {

namespace {
constinit thread_local bool forks_wait_here = true;
}  // namespace

void set_forks_wait(bool wait) { forks_wait_here = wait; }

bool detail::forks_wait() { return forks_wait_here; }

}  // namespace asyncgrad
