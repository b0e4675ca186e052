// Where in the program a call stands.
#pragma once

#include "asyncgrad/core/location.h"
#include "nb.h"

namespace asyncgrad::python {

// The innermost line of Python that is not the package's own. Its file's name is kept for good.
Location here();

}  // namespace asyncgrad::python
