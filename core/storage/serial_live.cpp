#include "asyncgrad/core/storage/serial_live.h"

namespace asyncgrad::detail {

// False at the end of the thread, when nobody would pass it on.
bool SerialLive::keep_for_this() {
  struct Last {
    ~Last() {
      if (kept.of != nullptr) pass_on();
      kept.of = nullptr;
      kept.is_over = true;
    }
  };
  thread_local Last last;
  static_cast<void>(last);
  if (kept.is_over) return false;
  if (kept.of != nullptr) pass_on();
  kept.of = this;
  return true;
}

}  // namespace asyncgrad::detail
