// Whether the tests run under a sanitizer, which makes them many times slower and keeps memory that was given back.
#pragma once

namespace asyncgrad::tests {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// Whether it is the thread sanitizer, to which one type of elements is like another.
#ifdef __SANITIZE_THREAD__
inline constexpr bool looks_for_races = true;
#else
inline constexpr bool looks_for_races = false;
#endif

// Why the child of a fork may hang if another thread computed at that moment, or null where it may not: the address
// sanitizer's own allocator leaves the locks of the other threads held in the child.
#ifdef __SANITIZE_ADDRESS__
inline constexpr const char* hangs_in_child =
    "the address sanitizer's own allocator leaves its locks held in the child";
#else
inline constexpr const char* hangs_in_child = nullptr;
#endif

// Why the child of a fork cannot start threads, or null where it can.
#ifdef __SANITIZE_THREAD__
inline constexpr const char* no_threads_in_child = "the thread sanitizer allows no new threads in the child";
#else
inline constexpr const char* no_threads_in_child = nullptr;
#endif

}  // namespace asyncgrad::tests
