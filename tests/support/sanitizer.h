// Whether the tests run under a sanitizer, which makes them many times slower and keeps memory that was given back.
#pragma once

namespace asyncgrad::tests {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace asyncgrad::tests
