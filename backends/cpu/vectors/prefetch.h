// Asks for memory before it is read or written: the processor's own prefetching leaves memory idle. Internal.
#pragma once

#include <hwy/cache_control.h>

#include <cstdint>

namespace asyncgrad::detail {

// How many elements ahead of a loop over a row they are asked for.
inline constexpr std::int64_t prefetched_ahead = 4096;

// Asks for n elements, perhaps behind the end of an array.
template <class T>
HWY_INLINE void prefetch(const T* elements, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 64 / static_cast<std::int64_t>(sizeof(T))) hwy::Prefetch(elements + i);
}

}  // namespace asyncgrad::detail
