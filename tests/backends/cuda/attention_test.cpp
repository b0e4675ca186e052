// The memory of attention. The cases of devices compare its results.
#include "tests/backends/cuda/both_backends.h"

namespace asyncgrad::detail {

namespace {

std::int64_t scratch_bytes(Op op, const std::vector<View>& views) {
  const AttentionAttributes attributes{.scale = 1};
  const Kernel& kernel = cuda_backend().kernels[static_cast<std::size_t>(op)];
  const KernelCall call{views.data(), static_cast<int>(views.size()), &attributes};
  return kernel.scratch_bytes == nullptr ? 0 : kernel.scratch_bytes(call);
}

// However many keys there are, the gradient keeps a number for each query.
TEST(CudaAttention, HoldsNoScores) {
  for (const std::int64_t keys : {1, 100, 10000}) {
    const Array rows({2, 3, 500, 4}, float32), columns({2, 3, keys, 4}, float32), sums({2, 3, 500}, float32);
    const View q = read(rows), k = read(columns), v = k, out = q, log_sums = read(sums);
    EXPECT_EQ(scratch_bytes(Op::attention, {out, log_sums, q, k, v}), 0);
    EXPECT_EQ(scratch_bytes(Op::attention_grad, {q, k, v, q, k, v, out, log_sums, out}), 2 * 3 * 500 * 4);
  }
}

}  // namespace

}  // namespace asyncgrad::detail
