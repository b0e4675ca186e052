#include "asyncgrad/backends/cuda/kernels/elementwise.cuh"

namespace asyncgrad::detail::cuda {

const ElementwiseTable& int64_elementwise() {
  static constexpr ElementwiseTable table = elementwise_table<std::int64_t>();
  return table;
}
const ElementwiseTable& int64_predicates() {
  static constexpr ElementwiseTable table = elementwise_table<std::int64_t, std::uint8_t>();
  return table;
}

}  // namespace asyncgrad::detail::cuda
