// Waits of Python for values.
#pragma once

namespace asyncgrad::python {

// Forgets which lines have waited.
void forget_blockers();

}  // namespace asyncgrad::python
