#include "asyncgrad/backends/cuda/kernels/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "asyncgrad/backends/cuda/cublaslt.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

// The alignment on which products may rely.
constexpr std::uint32_t good_alignment = 16;  // in bytes

// Whether every matrix of every operand is, also those behind the first.
bool are_aligned(const KernelCall& call) {
  for (int i = 0; i < call.view_count; ++i) {
    const Shape& shape = call.shape(i);
    const std::int64_t elements = shape.rank() > 2 ? shape[-1] * shape[-2] : 0;
    const std::int64_t distance = elements * call.element_bytes(i);
    if (!cuda::is_aligned(call.bytes(i), distance)) return false;
  }
  return true;
}

void check(cublasStatus_t status, const char* operation, const KernelCall& call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw_error(operation, fmt::format("cuBLASLt answers {} for the operands {} and {}",
                                     cublaslt().get_status_name(status), call.shape(1).str(), call.shape(2).str()));
}

using MadeHandle = OfCublasLt<cublasLtHandle_t, &CublasLt::destroy>;
using MadeProduct = OfCublasLt<cublasLtMatmulDesc_t, &CublasLt::matmul_desc_destroy>;
using MadeLayout = OfCublasLt<cublasLtMatrixLayout_t, &CublasLt::matrix_layout_destroy>;
using MadePreference = OfCublasLt<cublasLtMatmulPreference_t, &CublasLt::matmul_preference_destroy>;

// The description of a product that cuBLASLt was given, and the algorithm that it chose. Every algorithm adds the parts
// of a sum in a fixed order, so none is excluded.
struct Plan {
  MadeProduct product;
  MadeLayout a, b, d;
  cublasLtMatmulAlgo_t algorithm{};
  bool has_bias = false;
  bool is_refused = false;  // it is for our own kernel
};

// The modes are for float32.
MathMode mode_for(DType dtype, MathMode asked) { return dtype == DType::float32 ? asked : MathMode::float32; }

cudaDataType_t type_of(const Product& p) {
  return p.dtype == DType::float64 ? CUDA_R_64F : p.dtype == DType::bfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}
cublasComputeType_t compute_type(const Product& p) {
  if (p.dtype == DType::float64) return CUBLAS_COMPUTE_64F;
  switch (p.math) {
    case MathMode::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case MathMode::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case MathMode::float32:
      break;
  }
  return CUBLAS_COMPUTE_32F;
}

}  // namespace

// Belongs to one queue, whose device is the calling thread's.
class Planner {
 public:
  Planner(const char* operation, const KernelCall& call) {
    cublasLtHandle_t handle = nullptr;
    check(cublaslt().create(&handle), operation, call);
    handle_.reset(handle);
  }

  cublasLtHandle_t handle() const { return handle_.get(); }
  const Plan& plan(const Product& product, const std::byte* bias, const char* operation, const KernelCall& call) {
    const auto known = plans_.find(product);
    return known != plans_.end() ? known->second : plans_[product] = make(product, bias, operation, call);
  }

 private:
  Plan make(const Product& asked, const std::byte* bias, const char* operation, const KernelCall& call) const;
  static Plan described(const Product& p, const std::byte* bias, const char* operation, const KernelCall& call);
  cublasStatus_t find_algorithm(const Product& p, Plan& plan, const char* operation, const KernelCall& call) const;

  MadeHandle handle_;
  std::map<Product, Plan> plans_;
};

// cuBLASLt may have no algorithm that adds the bias, and on GPUs before 8.0 none for bf16 and tf32. Then the bias is left
// out, and float32 is multiplied as it is. Other errors are errors.
Plan Planner::make(const Product& asked, const std::byte* bias, const char* operation, const KernelCall& call) const {
  std::vector<MathMode> modes{asked.math};
  if (asked.math != MathMode::float32) modes.push_back(MathMode::float32);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (const MathMode math : modes) {
    for (const bool has_bias : {true, false}) {
      if (has_bias && !asked.has_bias) continue;
      Product p = asked;
      p.math = math;
      p.has_bias = has_bias;
      Plan plan = described(p, bias, operation, call);
      status = find_algorithm(p, plan, operation, call);
      if (status == CUBLAS_STATUS_SUCCESS) return plan;
      const bool is_refused = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
                              status == CUBLAS_STATUS_ARCH_MISMATCH;
      if (!is_refused) check(status, operation, call);
    }
  }
  if (asked.dtype != DType::bfloat16) check(status, operation, call);
  Plan ours;
  ours.is_refused = true;
  return ours;
}

Plan Planner::described(const Product& p, const std::byte* bias, const char* operation, const KernelCall& call) {
  const CublasLt& lt = cublaslt();
  const cudaDataType_t type = type_of(p);
  Plan plan;
  plan.has_bias = p.has_bias;
  cublasLtMatmulDesc_t described = nullptr;
  const cudaDataType_t of_sums = p.dtype == DType::bfloat16 ? CUDA_R_32F : type;
  check(lt.matmul_desc_create(&described, compute_type(p), of_sums), operation, call);
  plan.product.reset(described);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    check(lt.matmul_desc_set_attribute(described, attribute, &value, sizeof(value)), operation, call);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (p.has_bias) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias));
  }
  const auto layout = [&](std::int64_t rows, std::int64_t columns, bool repeats) {
    const auto r = static_cast<std::uint64_t>(rows), c = static_cast<std::uint64_t>(columns);
    cublasLtMatrixLayout_t made = nullptr;
    check(lt.matrix_layout_create(&made, type, r, c, rows), operation, call);
    MadeLayout layout(made);
    const auto batches = static_cast<std::int32_t>(p.batches);
    const std::int64_t distance = repeats ? 0 : rows * columns;
    check(lt.matrix_layout_set_attribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof(batches)),
          operation, call);
    check(
        lt.matrix_layout_set_attribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance, sizeof(distance)),
        operation, call);
    return layout;
  };
  plan.a = layout(p.rows_of_a(), p.columns_of_a(), p.repeats_a);
  plan.b = layout(p.rows_of_b(), p.columns_of_b(), p.repeats_b);
  plan.d = layout(p.rows, p.columns, false);
  return plan;
}

// Takes the algorithm that cuBLASLt ranks first. Returns what cuBLASLt says of it.
cublasStatus_t Planner::find_algorithm(const Product& p, Plan& plan, const char* operation,
                                       const KernelCall& call) const {
  const CublasLt& lt = cublaslt();
  cublasLtMatmulPreference_t made = nullptr;
  check(lt.matmul_preference_create(&made), operation, call);
  const MadePreference preference(made);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(lt.matmul_preference_set_attribute(made, attribute, &value, sizeof(value)), operation, call);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(multiply_scratch_bytes - 256));
  const std::uint32_t alignment = p.is_aligned ? good_alignment : static_cast<std::uint32_t>(size_bytes(p.dtype));
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(operand, alignment);
  }
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = lt.matmul_algo_get_heuristic(handle(), plan.product.get(), plan.a.get(), plan.b.get(),
                                                             plan.d.get(), plan.d.get(), made, 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  plan.algorithm = found.algo;
  return count == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found.state;
}

Product matmul_product(const KernelCall& call) {
  const auto& attributes = call.attributes<MatmulAttributes>();
  return {.rows = call.shape(0)[-1],
          .columns = call.shape(0)[-2],
          .depth = call.shape(1)[attributes.transpose_x ? -2 : -1],
          .transpose_a = attributes.transpose_w,
          .transpose_b = attributes.transpose_x,
          .dtype = call.dtype(0),
          .math = mode_for(call.dtype(0), attributes.math),
          .is_aligned = are_aligned(call)};
}

// cuBLASLt adds a bias if it is aligned, except in float64, and perhaps not if an extent is 1. Before an activation it
// need not: one pass of ours does both.
Product dense_product(const KernelCall& call) {
  const auto& attributes = call.attributes<DenseAttributes>();
  Product product{.rows = call.shape(0)[1],
                  .columns = call.shape(0)[0],
                  .depth = call.shape(1)[1],
                  .dtype = call.dtype(0),
                  .math = mode_for(call.dtype(0), attributes.math),
                  .is_aligned = are_aligned(call)};
  product.has_bias = attributes.has_bias && attributes.activation == ActivationKind::none &&
                     product.dtype == DType::float32 && product.is_aligned && product.rows > 1 && product.columns > 1 &&
                     product.depth > 1;
  return product;
}

bool is_aligned(const std::byte* matrix, std::int64_t distance) {
  return reinterpret_cast<std::uintptr_t>(matrix) % good_alignment == 0 && distance % good_alignment == 0;
}

bool multiply(const KernelCall& call, const Product& product, const Matrices& matrices, const char* operation) {
  const CublasLt& lt = cublaslt();
  std::shared_ptr<Planner>& planner = static_cast<const Launch*>(call.launch)->planner;
  if (planner == nullptr) planner = std::make_shared<Planner>(operation, call);
  const Plan& plan = planner->plan(product, matrices.bias, operation, call);
  if (plan.is_refused) {
    multiply_bfloat16(call, product, matrices);
    return false;
  }
  if (plan.has_bias) {
    const void* const bias = matrices.bias;
    check(lt.matmul_desc_set_attribute(plan.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)),
          operation, call);
  }
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const bool is_float64 = product.dtype == DType::float64;
  const void* const one = is_float64 ? static_cast<const void*>(&one64) : &one32;
  const void* const zero = is_float64 ? static_cast<const void*>(&zero64) : &zero32;
  const auto address = reinterpret_cast<std::uintptr_t>(call.scratch);
  std::byte* const workspace = call.scratch + (256 - address % 256) % 256;
  check(lt.matmul(planner->handle(), plan.product.get(), one, matrices.a, plan.a.get(), matrices.b, plan.b.get(),
                  product.accumulates ? one : zero, matrices.d, plan.d.get(), matrices.d, plan.d.get(), &plan.algorithm,
                  workspace, static_cast<std::size_t>(multiply_scratch_bytes - 256), stream_of(call)),
        operation, call);
  return plan.has_bias;
}

}  // namespace asyncgrad::detail::cuda
