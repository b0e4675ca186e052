// The operator new of a test program, which can refuse memory.
#pragma once

namespace asyncgrad::tests {

// The program defines it: whether this request is refused. Takes no memory itself.
bool is_new_refused() noexcept;

}  // namespace asyncgrad::tests
