// The floating-point operations of an operation. Internal.
#pragma once

#include "asyncgrad/core/backend/kernel.h"
#include "asyncgrad/core/backend/operations.h"

namespace asyncgrad::detail {

// The multiplications and additions of products, convolutions and attention, and 0 for other operations. Products with
// the zeros of padding count. A recurrent layer's are those of the products that it consists of.
double flops_of(Op op, const KernelCall& call);

}  // namespace asyncgrad::detail
