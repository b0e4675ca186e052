#include "asyncgrad/backends/cuda/kernels/elementwise.cuh"

namespace asyncgrad::detail::cuda {

const ElementwiseTable& float32_elementwise() {
  static constexpr ElementwiseTable table = elementwise_table<float>();
  return table;
}
const ElementwiseTable& float32_predicates() {
  static constexpr ElementwiseTable table = elementwise_table<float, std::uint8_t>();
  return table;
}

}  // namespace asyncgrad::detail::cuda
