#include "asyncgrad/core/sync/signals.h"

#include <pthread.h>

namespace asyncgrad::detail {

void BlockedSignals::block(sigset_t* before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

void BlockedSignals::restore(const sigset_t& before) { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

}  // namespace asyncgrad::detail
