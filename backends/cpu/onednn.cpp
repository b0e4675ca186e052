#include "asyncgrad/backends/cpu/onednn.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include "asyncgrad/core/error.h"

// Of the libgomp that oneDNN loads; omp.h is a compiler's own and would name another runtime under clang. Both act on
// the calling thread alone. The only place that knows of OpenMP.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads(void);
}

namespace asyncgrad::detail {

namespace {

// While it lives, oneDNN computes on the calling thread alone: the engine's threads are the only pool there is.
class OneOpenMPThread {
 public:
  OneOpenMPThread() {
    if (previous_ != 1) omp_set_num_threads(1);
  }
  OneOpenMPThread(const OneOpenMPThread&) = delete;
  OneOpenMPThread& operator=(const OneOpenMPThread&) = delete;
  ~OneOpenMPThread() {
    if (previous_ != 1) omp_set_num_threads(previous_);
  }

 private:
  int previous_ = omp_get_max_threads();
};

}  // namespace

void onednn_product(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& x, const MatrixView& w,
                    const MatrixOut& out) {
  const OneOpenMPThread one_thread;
  const dnnl_status_t status =
      dnnl_sgemm(x.transposed ? 'T' : 'N', w.transposed ? 'T' : 'N', m, n, k, 1.0F, x.data, x.row_stride, w.data,
                 w.row_stride, out.accumulate ? 1.0F : 0.0F, out.data, out.row_stride);
  if (status != dnnl_success) {
    throw_error("matmul", fmt::format("oneDNN failed with status {} on ({}, {}) x ({}, {})", static_cast<int>(status),
                                      m, k, k, n));
  }
}

}  // namespace asyncgrad::detail
