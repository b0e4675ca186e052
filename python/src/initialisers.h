// Initial values of parameters, as Python names them.
#pragma once

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

// The initialiser of a name, of a function of the library, or of a function of Python, which is called with (shape,
// dtype, device); null for anything else.
nn::Initialiser initialiser_from(nb::handle object);
// The name of one of the library's; None for any other.
nb::object initialiser_name(const nn::Initialiser& initialiser);

}  // namespace asyncgrad::python
