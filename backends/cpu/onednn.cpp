#include "asyncgrad/backends/cpu/onednn.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

void onednn_product(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& x, const MatrixView& w,
                    const MatrixOut& out) {
  const dnnl_status_t status =
      dnnl_sgemm(x.transposed ? 'T' : 'N', w.transposed ? 'T' : 'N', m, n, k, 1.0F, x.data, x.row_stride, w.data,
                 w.row_stride, out.accumulate ? 1.0F : 0.0F, out.data, out.row_stride);
  if (status != dnnl_success) {
    throw_error("matmul", fmt::format("oneDNN failed with status {} on ({}, {}) x ({}, {})", static_cast<int>(status),
                                      m, k, k, n));
  }
}

}  // namespace asyncgrad::detail
