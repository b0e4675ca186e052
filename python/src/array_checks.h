// The checks on objects of Python and NumPy that become tensors, and on memory that is shared with them.
#pragma once

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

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
// Throws ValueError unless the memory is aligned to its elements: kernels read whole ones at a time.
void check_aligned(const void* data, DType dtype);
// Throws ValueError for bools that are not stored as 0 or 1.
void check_truths(const void* data, DType dtype, const Shape& shape);

}  // namespace asyncgrad::python
