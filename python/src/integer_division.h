// Division of integers as NumPy's, which rounds down, and powers of integers.
#pragma once

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::python {

// floor(x / y) and x - floor(x / y) y of integers of one type, broadcast against each other. Exact for all values. As
// in NumPy, both are 0 where y is 0, and -2^63 divided by -1 is -2^63. The result has that type, and no history. On a
// GPU the values are copied to the CPU and back. Queued; throw Error for shapes that do not broadcast, and for operands
// on different devices.
Tensor floor_quotient(const Arg& x, const Arg& y);
Tensor floor_remainder(const Arg& x, const Arg& y);
// x^y modulo 2^64, as a number with a sign; for y < 0 it is 1 / x^-y without its fraction, and 0 where x is 0. The rest
// is as above.
Tensor integer_power(const Arg& x, const Arg& y);
// A result that was computed in int64 as int32 or uint8: the low bits, as NumPy computes in these types. As any other
// type it is the same as to(x, dtype).
Tensor narrowed(const Arg& x, DType dtype);

}  // namespace asyncgrad::python
