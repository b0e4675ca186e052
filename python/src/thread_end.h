// The end of a thread of Python when the interpreter ends.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <utility>

namespace asyncgrad::python {

[[noreturn]] inline void block_for_good() {
  for (;;) pause();
}

// Calls a function that takes the interpreter's lock or runs Python. Before version 3.14, CPython ends a thread that
// wants the lock of an ending interpreter by pthread_exit(), which unwinds the stack: through destructors that need
// Python, and through functions that let nothing pass. Here it blocks instead, until the process ends, as it does in
// 3.14.
template <class Function>
decltype(auto) unless_interpreter_ends(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const abi::__forced_unwind&) {
    block_for_good();
  }
}

}  // namespace asyncgrad::python
