// Reports operations as a whole to the profiler. Internal.
#pragma once

#include <cstdint>

#include "asyncgrad/core/engine/ring/operation.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/profile/profile.h"

namespace asyncgrad::detail {

void record_queued(const Operation& operation) noexcept;
void record_at_call(const Invocation& invocation, const Location& where, std::int64_t begin_ns) noexcept;

// Called under the front end's lock, before the operation can become ready.
inline void report_queued(const Operation& operation) {
  if (profile::is_on()) record_queued(operation);
}

// The time of an operation that is computed at its call.
class CallSpan : profile::Span {
 public:
  CallSpan(const Invocation& invocation, const Location& where) : invocation_(invocation), where_(where) {}
  ~CallSpan() {
    if (was_on()) record_at_call(invocation_, where_, begin_ns_);
  }

 private:
  const Invocation& invocation_;
  const Location& where_;
};

}  // namespace asyncgrad::detail
