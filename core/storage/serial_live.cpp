#include "asyncgrad/core/storage/serial_live.h"

namespace asyncgrad::detail {

void SerialLive::keep_for_this() {
  // At the end of the thread.
  struct Last {
    ~Last() {
      if (kept.of != nullptr) pass_on();
    }
  };
  thread_local Last last;
  static_cast<void>(last);
  if (kept.of != nullptr) pass_on();
  kept.of = this;
}

}  // namespace asyncgrad::detail
