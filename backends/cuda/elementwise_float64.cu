#include "asyncgrad/backends/cuda/elementwise.cuh"

namespace asyncgrad::detail::cuda {

const ElementwiseTable& float64_elementwise() {
  static constexpr ElementwiseTable table = elementwise_table<double>();
  return table;
}

}  // namespace asyncgrad::detail::cuda
