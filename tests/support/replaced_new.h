// The operator new of a test program, which can refuse memory.
#pragma once

namespace asyncgrad::tests {

// Whether this request is refused. The program defines the function, which may take no memory itself.
bool is_new_refused() noexcept;

}  // namespace asyncgrad::tests
