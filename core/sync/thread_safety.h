// Annotations that clang's -Wthread-safety checks: which lock guards a variable, and which locks a function takes,
// needs or must not hold. Internal.
//
// Macros, because an attribute that names a member of the class cannot be hidden in anything else, and GCC warns of
// attributes that it does not know. https://clang.llvm.org/docs/ThreadSafetyAnalysis.html describes each of them.
//
// The analysis does not follow references, function pointers or lambdas: a lambda that runs under the lock of its
// surroundings says so itself, with ASYNCGRAD_REQUIRES after its parameters.
#pragma once

#ifdef __clang__
#define ASYNCGRAD_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define ASYNCGRAD_THREAD_SAFETY(attribute)
#endif

// --- Of types. ---

// A lock; `name` is what the warnings call it.
#define ASYNCGRAD_CAPABILITY(name) ASYNCGRAD_THREAD_SAFETY(capability(name))
// Holds a lock from its constructor to its destructor.
#define ASYNCGRAD_SCOPED_CAPABILITY ASYNCGRAD_THREAD_SAFETY(scoped_lockable)

// --- Of variables. ---

// The variable is read and written under the lock alone.
#define ASYNCGRAD_GUARDED_BY(lock) ASYNCGRAD_THREAD_SAFETY(guarded_by(lock))
// The same holds for what the pointer points to.
#define ASYNCGRAD_PT_GUARDED_BY(lock) ASYNCGRAD_THREAD_SAFETY(pt_guarded_by(lock))
// The order of two locks that one thread holds at once. clang 14 checks it with -Wthread-safety-beta alone.
#define ASYNCGRAD_ACQUIRED_BEFORE(...) ASYNCGRAD_THREAD_SAFETY(acquired_before(__VA_ARGS__))
#define ASYNCGRAD_ACQUIRED_AFTER(...) ASYNCGRAD_THREAD_SAFETY(acquired_after(__VA_ARGS__))

// --- Of functions. ---

// The caller holds the locks, and still does afterwards.
#define ASYNCGRAD_REQUIRES(...) ASYNCGRAD_THREAD_SAFETY(requires_capability(__VA_ARGS__))
// The caller does not hold them.
#define ASYNCGRAD_EXCLUDES(...) ASYNCGRAD_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
// Takes them, or gives them back; without an argument: the object itself, or what a scoped lock holds.
#define ASYNCGRAD_ACQUIRE(...) ASYNCGRAD_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define ASYNCGRAD_RELEASE(...) ASYNCGRAD_THREAD_SAFETY(release_capability(__VA_ARGS__))
// Takes them if it returns the value that is the first argument.
#define ASYNCGRAD_TRY_ACQUIRE(...) ASYNCGRAD_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
// Returns a reference to the lock.
#define ASYNCGRAD_RETURN_CAPABILITY(lock) ASYNCGRAD_THREAD_SAFETY(lock_returned(lock))
// From here on the lock counts as held, for a reason that clang cannot see and that stands beside it.
#define ASYNCGRAD_ASSERT_CAPABILITY(...) ASYNCGRAD_THREAD_SAFETY(assert_capability(__VA_ARGS__))
// The function is not looked at, for a reason that stands beside it.
#define ASYNCGRAD_NO_THREAD_SAFETY_ANALYSIS ASYNCGRAD_THREAD_SAFETY(no_thread_safety_analysis)
