#include "asyncgrad/backends/cuda/kernels/elementwise.cuh"

namespace asyncgrad::detail::cuda {

const ElementwiseTable& boolean_elementwise() {
  static constexpr ElementwiseTable table = elementwise_table<std::uint8_t>();
  return table;
}

}  // namespace asyncgrad::detail::cuda
