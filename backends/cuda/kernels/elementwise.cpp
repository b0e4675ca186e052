#include "asyncgrad/backends/cuda/kernels/elementwise.h"

#include "asyncgrad/backends/cuda/families.h"

namespace asyncgrad::detail::cuda {

namespace {

// The type is that of the inputs, of which the first one that is no number is operand 1.
const ElementwiseTable& table_of(const KernelCall& call) {
  const DType dtype = call.dtype(1);
  const bool is_same = call.dtype(0) == dtype;
  switch (dtype) {
    case DType::float32:
      return is_same ? float32_elementwise() : float32_predicates();
    case DType::float64:
      return is_same ? float64_elementwise() : float64_predicates();
    case DType::boolean:
      return boolean_elementwise();
    default:
      return is_same ? int64_elementwise() : int64_predicates();
  }
}

void run_elementwise(const KernelCall& call, int) {
  table_of(call)[call.attributes<ElementwiseAttributes>().formula](call);
}

}  // namespace

constinit const Kernel elementwise_kernel{.run = run_elementwise};

}  // namespace asyncgrad::detail::cuda
