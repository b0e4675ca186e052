// The only interface to oneDNN, which hides the differences between its versions. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail {

// An operand as it lies in memory, with rows `row_stride` elements apart. `transposed`: the operand is the transpose of
// that matrix.
struct MatrixView {
  const float* data;
  std::int64_t row_stride;
  bool transposed;
};
struct MatrixOut {
  float* data;
  std::int64_t row_stride;
  bool accumulate;  // adds to what is there
};

// Whether onednn_product can compute products of m rows in this process. The answer stays the same. It is no if the
// system refused memory while oneDNN made its kernels. Throws std::bad_alloc if there is too little memory to make them
// now, after which the question may be asked again. Any thread may call it.
bool has_onednn_kernels(std::int64_t m, bool transposed_w);

// out (m, n) = x (m, k) w (k, n), where all extents are at least 1 and has_onednn_kernels(m, …) is true. Runs on the
// calling thread alone, and signals to it wait meanwhile. Any number of threads may call it at once. Throws
// std::bad_alloc, or Error if oneDNN fails for another reason.
//
// It is oneDNN's sgemm: on plain layouts as fast as its matmul primitives or faster (benchmarks/matmul_bench.cpp), it
// never falls back to a reference loop on x86, and there is nothing to create, to key or to keep for a shape.
void onednn_product(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& x, const MatrixView& w,
                    const MatrixOut& out);

// The instruction set of its kernels for float32, as oneDNN numbers them. The first question, or the first product, decides
// for good.
enum class OnednnSet : std::uint32_t { sse41 = 0x1, avx = 0x3, avx2 = 0x7, avx512 = 0x27 };
OnednnSet onednn_set();
// It uses this set at most. False if it is too late, or if this oneDNN cannot.
bool limit_onednn(OnednnSet most);

}  // namespace asyncgrad::detail
