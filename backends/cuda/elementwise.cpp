#include "asyncgrad/backends/cuda/elementwise.h"

#include "asyncgrad/backends/cuda/families.h"

namespace asyncgrad::detail::cuda {

namespace {

const ElementwiseTable& table_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return float32_elementwise();
    case DType::float64:
      return float64_elementwise();
    case DType::int64:
      break;
  }
  return int64_elementwise();
}

void run_elementwise(const KernelCall& call, int) {
  table_of(call.dtype(0))[call.attributes<ElementwiseAttributes>().formula](call);
}

}  // namespace

void add_elementwise_kernels(Backend& backend) { backend.elementwise.fill({.run = run_elementwise}); }

}  // namespace asyncgrad::detail::cuda
