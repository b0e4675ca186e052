#include "asyncgrad/backends/cuda/elementwise.cuh"

namespace asyncgrad::detail::cuda {

const ElementwiseTable& float32_elementwise() {
  static constexpr ElementwiseTable table = elementwise_table<float>();
  return table;
}

}  // namespace asyncgrad::detail::cuda
