// The products that operations ask of cuBLASLt. Internal.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

inline constexpr std::int64_t max_batches = 65535;  // the blocks of a grid along one axis

// D = op(A) op(B) + bias, or D + op(A) op(B), all stored by columns; op transposes or not, and the bias has an element for each row of D. Our
// matrices are stored by rows, which seen by columns are their transposes: out = x w becomes out^T = w^T x^T, so that A
// is w, B is x and D is out.
struct Product {
  std::int64_t rows = 0, columns = 0, depth = 0;  // D (rows, columns), op(A) (rows, depth), op(B) (depth, columns)
  bool transpose_a = false, transpose_b = false;
  DType dtype = DType::float32;
  MathMode math = MathMode::float32;
  bool has_bias = false, accumulates = false;
  bool is_aligned = false;  // true if all matrices are aligned to 16 bytes
  // So many products in one call, max_batches at most, of matrices one behind another, or of one A or B with all.
  std::int64_t batches = 1;
  bool repeats_a = false, repeats_b = false;

  friend auto operator<=>(const Product&, const Product&) = default;  // NOLINT(modernize-use-nullptr)

  // A, B and D as they are stored; the number of rows is the distance of two columns.
  std::int64_t rows_of_a() const { return transpose_a ? depth : rows; }
  std::int64_t columns_of_a() const { return transpose_a ? rows : depth; }
  std::int64_t rows_of_b() const { return transpose_b ? columns : depth; }
  std::int64_t columns_of_b() const { return transpose_b ? depth : columns; }
};

Product matmul_product(const KernelCall& call);  // one of those along the leading axes
// The product has a bias if cuBLASLt is to add it. Every activation is ours: cuBLASLt's relu makes 0 of NaN.
Product dense_product(const KernelCall& call);

// Where the matrices lie; those of a batch lie behind these.
struct Matrices {
  const std::byte *a, *b;
  std::byte* d;
  const std::byte* bias = nullptr;
};

// Whether products may rely on the alignment of a matrix, and of others that follow it at this distance, in bytes.
bool is_aligned(const std::byte* matrix, std::int64_t distance = 0);

// Puts the product on the queue, for the operation of this call, whose scratch memory begins with what the product needs.
// Returns whether the bias is added: cuBLASLt may have no algorithm that does so. Products that a GPU before 8.0 cannot
// compute in bf16 or tf32 are computed in float32. Throws Error if cuBLASLt cannot compute the product.
bool multiply(const KernelCall& call, const Product& product, const Matrices& matrices, const char* operation);
inline constexpr std::int64_t multiply_scratch_bytes = (std::int64_t{32} << 20) + 256;

// --- in bfloat16_product.cu

// The product of bfloat16, for GPUs for which cuBLASLt has none.
void multiply_bfloat16(const KernelCall& call, const Product& product, const Matrices& matrices);

// --- in dense.cu

// out = activation(product + bias), where the product is in out, or is zero if there is nothing to sum.
void finish_dense(const KernelCall& call, const float* bias, ActivationKind activation, bool is_zero);
void finish_dense(const KernelCall& call, const double* bias, ActivationKind activation, bool is_zero);

}  // namespace asyncgrad::detail::cuda
