#include "asyncgrad/backends/cuda/kernels/elementwise.cuh"

namespace asyncgrad::detail::cuda {

const ElementwiseTable& float64_elementwise() {
  static constexpr ElementwiseTable table = elementwise_table<double>();
  return table;
}
const ElementwiseTable& float64_predicates() {
  static constexpr ElementwiseTable table = elementwise_table<double, std::uint8_t>();
  return table;
}

}  // namespace asyncgrad::detail::cuda
