// The checks of array() and from_numpy() on objects of Python and NumPy.
#pragma once

#include "binding.h"

namespace asyncgrad::python {

nb::module_ numpy();
// Whether an object is a number of Python, or lists of such numbers, which have no type of their own. `object` has
// become an array of numbers: it holds no list that holds itself, and has few levels.
bool is_untyped(nb::handle object);
bool is_masked_array(nb::handle object);
// Throws TypeError for masked values, also in lists: a tensor has no place for a mask.
void check_unmasked(nb::handle object);
// Throws OverflowError if an integer type cannot hold what Python's numbers have become, as NumPy 2 does.
void check_bounds(nb::handle array, DType dtype);
// The same for numbers of Python that are objects to NumPy, as one of them fits into none of its integer types, and for a
// floating type ValueError. Passes over an array of other objects.
void check_large_numbers(nb::handle array, DType dtype);

}  // namespace asyncgrad::python
