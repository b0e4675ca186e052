// The five products of a step of the chapter's MLP, by bare cuBLASLt, with which a step on a GPU is compared.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "asyncgrad/backends/cuda/cublaslt.h"
#include "asyncgrad/backends/cuda/kernels/product.h"
#include "asyncgrad/core/error.h"
#include "chapter_products.h"

namespace asyncgrad::benchmarks {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw_error("products", cudaGetErrorString(status));
}
inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw_error("products", detail::cuda::cublaslt().get_status_name(status));
}

class GpuMemory {
 public:
  explicit GpuMemory(std::size_t size_bytes) { check(cudaMalloc(&memory_, size_bytes)); }
  explicit GpuMemory(const std::vector<float>& values) : GpuMemory(values.size() * sizeof(float)) {
    check(cudaMemcpy(memory_, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { cudaFree(memory_); }
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

// The arguments of calls of cuBLASLt: the handle, a stream, and workspace memory.
class GpuTools {
 public:
  GpuTools() {
    check(detail::cuda::cublaslt().create(&handle_));
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  GpuTools(const GpuTools&) = delete;
  GpuTools& operator=(const GpuTools&) = delete;
  ~GpuTools() { cudaStreamDestroy(stream_); }  // the handle stays: so few of them are made

  cublasLtHandle_t handle() const { return handle_; }
  cudaStream_t stream() const { return stream_; }
  void* workspace() const { return workspace_.get(); }
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

 private:
  cublasLtHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  GpuMemory workspace_{workspace_bytes};
};

// Plain float32 layouts, row major, by the algorithm that cuBLASLt names first. Its descriptions stay as the handle
// does.
class GpuProduct {
 public:
  GpuProduct(const ChapterProduct& product, const ProductMemory& memory, MathMode math, const GpuTools& tools)
      : tools_(tools), x_(memory.x), w_(memory.w), out_(memory.out) {
    const detail::cuda::Product stored{.rows = product.n,
                                       .columns = product.m,
                                       .depth = product.k,
                                       .transpose_a = product.transpose_w,
                                       .transpose_b = product.transpose_x};
    describe(stored, math);
    choose();
  }

  // Puts it on the stream.
  void run() const {
    const float one = 1, zero = 0;
    check(lt_.matmul(tools_.handle(), product_, &one, w_.get(), a_, x_.get(), b_, &zero, out_.get(), d_, out_.get(), d_,
                     &algorithm_, tools_.workspace(), GpuTools::workspace_bytes, tools_.stream()));
  }

 private:
  void describe(const detail::cuda::Product& p, MathMode math) {
    const auto compute = math == MathMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(lt_.matmul_desc_create(&product_, compute, CUDA_R_32F));
    set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a);
    set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b);
    a_ = layout(p.rows_of_a(), p.columns_of_a());
    b_ = layout(p.rows_of_b(), p.columns_of_b());
    d_ = layout(p.rows, p.columns);
  }
  void set_transpose(cublasLtMatmulDescAttributes_t which, bool transpose) {
    const cublasOperation_t operation = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(lt_.matmul_desc_set_attribute(product_, which, &operation, sizeof(operation)));
  }
  cublasLtMatrixLayout_t layout(std::int64_t rows, std::int64_t columns) const {
    cublasLtMatrixLayout_t made = nullptr;
    const auto r = static_cast<std::uint64_t>(rows), c = static_cast<std::uint64_t>(columns);
    check(lt_.matrix_layout_create(&made, CUDA_R_32F, r, c, rows));
    return made;
  }
  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    check(lt_.matmul_preference_create(&preference));
    const std::uint64_t most = GpuTools::workspace_bytes;
    check(
        lt_.matmul_preference_set_attribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    check(lt_.matmul_algo_get_heuristic(tools_.handle(), product_, a_, b_, d_, d_, preference, 1, &found, &count));
    lt_.matmul_preference_destroy(preference);
    check(count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state);
    algorithm_ = found.algo;
  }

  const detail::cuda::CublasLt& lt_ = detail::cuda::cublaslt();
  const GpuTools& tools_;
  GpuMemory x_, w_, out_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

// All five, each on memory of its own, on the calling thread's GPU. Throws Error where CUDA or cuBLASLt fails.
class GpuProducts {
 public:
  // Rounded to TF32 or not.
  explicit GpuProducts(MathMode math) {
    for (const ChapterProduct& product : chapter_products) {
      products_.emplace_back(product, ProductMemory(product), math, tools_);
    }
  }
  // Runs all products `times` times in a row, and waits.
  void run(int times) {
    for (int i = 0; i < times; ++i) {
      for (const GpuProduct& product : products_) product.run();
    }
    check(cudaStreamSynchronize(tools_.stream()));
  }

 private:
  GpuTools tools_;
  std::deque<GpuProduct> products_;
};

}  // namespace asyncgrad::benchmarks
