// Operations of the program's own.
#pragma once

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

// For the garbage collector, the functions that end with this tensor: they give its gradient, or compute it
// again.
int visit_own_functions(const Tensor& tensor, visitproc visit, void* arg);

// Arrays of NumPy over the first `count` outputs of a call, valid until it returns.
nb::list output_views(const CustomCall& call, int count);

}  // namespace asyncgrad::python
