#include "tests/backends/cuda/emulator/cublaslt.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "asyncgrad/backends/cuda/cublaslt.h"
#include "asyncgrad/backends/element_types.h"
#include "tests/backends/cuda/emulator/emulator.h"

namespace asyncgrad::tests::emulator {

namespace {

std::mutex mutex;  // over these:
CublasLtFaults faults;
std::map<std::string, int> calls;
int objects = 0;

cublasStatus_t status_of(const char* function) {
  const std::lock_guard lock(mutex);
  ++calls[function];
  return faults.function == function && faults.index-- == 0 ? faults.status : CUBLAS_STATUS_SUCCESS;
}

struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;

  bool has_bias() const { return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS; }
  bool has_relu() const { return epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS; }
};
struct Layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batches = 1;
  std::int64_t distance = 0;  // of a matrix to the next, in elements

  std::uint64_t at(std::uint64_t row, std::uint64_t column) const {
    return row + column * static_cast<std::uint64_t>(leading);
  }
};
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C and D
};
// What an algorithm was promised; cublasLtMatmulAlgo_t holds it.
struct Algorithm {
  std::uint64_t workspace;
  std::uint32_t alignment[4];
};
constexpr std::uint64_t wanted_workspace = 1 << 16, workspace_alignment = 256, bias_alignment = 16;

struct Product {
  Description description;
  Layout a, b, c, d;

  bool is_transposed_a() const { return description.transpose_a == CUBLAS_OP_T; }
  bool is_transposed_b() const { return description.transpose_b == CUBLAS_OP_T; }
  std::uint64_t depth() const { return is_transposed_a() ? a.rows : a.columns; }
  bool needs_bf16() const {
    return a.type == CUDA_R_16BF || description.compute == CUBLAS_COMPUTE_32F_FAST_16BF ||
           description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  bool is_valid() const {
    if ((is_transposed_a() ? a.columns : a.rows) != d.rows || (is_transposed_b() ? b.rows : b.columns) != d.columns ||
        (is_transposed_b() ? b.columns : b.rows) != depth() || c.rows != d.rows || c.columns != d.columns) {
      return false;
    }
    for (const Layout* layout : {&a, &b, &c, &d}) {
      if (layout->type != a.type || layout->leading < static_cast<std::int64_t>(layout->rows) ||
          layout->batches != d.batches || layout->batches < 1) {
        return false;
      }
    }
    const bool is_double = a.type == CUDA_R_64F, is_bf16 = a.type == CUDA_R_16BF;
    if (is_bf16 && description.compute != CUBLAS_COMPUTE_32F) return false;
    return is_double == (description.compute == CUBLAS_COMPUTE_64F) &&
           description.scale == (is_double ? CUDA_R_64F : CUDA_R_32F);
  }
};

template <class T>
struct Operands {
  const T *a, *b, *c;
  T* d;
};

// D = activation(alpha op(A) op(B) + beta C + bias)
template <class T>
void multiply_one(const Product& p, double alpha, double beta, const Operands<T>& x) {
  std::vector<T> results;  // C may be D
  for (std::uint64_t column = 0; column < p.d.columns; ++column) {
    for (std::uint64_t row = 0; row < p.d.rows; ++row) {
      double sum = 0;
      for (std::uint64_t k = 0; k < p.depth(); ++k) {
        sum += static_cast<double>(x.a[p.is_transposed_a() ? p.a.at(k, row) : p.a.at(row, k)]) *
               static_cast<double>(x.b[p.is_transposed_b() ? p.b.at(column, k) : p.b.at(k, column)]);
      }
      sum *= alpha;
      if (beta != 0) sum += beta * static_cast<double>(x.c[p.c.at(row, column)]);
      if (p.description.has_bias()) sum += static_cast<double>(static_cast<const T*>(p.description.bias)[row]);
      if (p.description.has_relu()) sum = sum > 0 ? sum : 0;
      results.push_back(detail::converted<T>(sum));
    }
  }
  const T* result = results.data();
  for (std::uint64_t column = 0; column < p.d.columns; ++column) {
    for (std::uint64_t row = 0; row < p.d.rows; ++row) x.d[p.d.at(row, column)] = *result++;
  }
}

template <class T>
void multiply(const Product& p, double alpha, double beta, const Operands<T>& x) {
  for (std::int64_t i = 0; i < p.d.batches; ++i) {
    multiply_one<T>(p, alpha, beta,
                    {x.a + i * p.a.distance, x.b + i * p.b.distance, x.c + i * p.c.distance, x.d + i * p.d.distance});
  }
}

// Handles are pointers to what they stand for.
template <class T, class Handle>
T& of(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}
template <class T, class Handle>
cublasStatus_t make(const char* function, Handle* handle, const T& value) {
  if (const cublasStatus_t status = status_of(function); status != CUBLAS_STATUS_SUCCESS) return status;
  *handle = reinterpret_cast<Handle>(new T(value));
  const std::lock_guard lock(mutex);
  ++objects;
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Handle>
cublasStatus_t end(const char* function, Handle handle) {
  delete &of<T>(handle);
  {
    const std::lock_guard lock(mutex);
    --objects;
  }
  return status_of(function);
}
template <class T>
cublasStatus_t set(T& attribute, const void* value, std::size_t size) {
  if (size != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

const char* get_status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "an unknown status";
}

cublasStatus_t create(cublasLtHandle_t* handle) { return make("create", handle, 0); }
cublasStatus_t destroy(cublasLtHandle_t handle) { return end<int>("destroy", handle); }

cublasStatus_t create_description(cublasLtMatmulDesc_t* made, cublasComputeType_t compute, cudaDataType_t scale) {
  return make("create_description", made, Description{compute, scale});
}
cublasStatus_t destroy_description(cublasLtMatmulDesc_t made) { return end<Description>("destroy_description", made); }
cublasStatus_t set_description(cublasLtMatmulDesc_t made, cublasLtMatmulDescAttributes_t attribute, const void* value,
                               std::size_t size) {
  if (const cublasStatus_t status = status_of("set_description"); status != CUBLAS_STATUS_SUCCESS) return status;
  auto& description = of<Description>(made);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(description.transpose_a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(description.transpose_b, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(description.epilogue, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(description.bias, value, size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t create_layout(cublasLtMatrixLayout_t* made, cudaDataType_t type, std::uint64_t rows,
                             std::uint64_t columns, std::int64_t leading) {
  return make("create_layout", made, Layout{type, rows, columns, leading});
}
cublasStatus_t destroy_layout(cublasLtMatrixLayout_t made) { return end<Layout>("destroy_layout", made); }

cublasStatus_t set_layout(cublasLtMatrixLayout_t made, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                          std::size_t size) {
  if (const cublasStatus_t status = status_of("set_layout"); status != CUBLAS_STATUS_SUCCESS) return status;
  auto& layout = of<Layout>(made);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(layout.batches, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(layout.distance, value, size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t create_preference(cublasLtMatmulPreference_t* made) {
  return make("create_preference", made, Preference());
}
cublasStatus_t destroy_preference(cublasLtMatmulPreference_t made) {
  return end<Preference>("destroy_preference", made);
}
cublasStatus_t set_preference(cublasLtMatmulPreference_t made, cublasLtMatmulPreferenceAttributes_t attribute,
                              const void* value, std::size_t size) {
  if (const cublasStatus_t status = status_of("set_preference"); status != CUBLAS_STATUS_SUCCESS) return status;
  auto& preference = of<Preference>(made);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(preference.workspace, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(preference.alignment[0], value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(preference.alignment[1], value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(preference.alignment[2], value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(preference.alignment[3], value, size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

Product product_of(cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  return {of<Description>(description), of<Layout>(a), of<Layout>(b), of<Layout>(c), of<Layout>(d)};
}

cublasStatus_t get_heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             cublasLtMatmulPreference_t given, int wanted, cublasLtMatmulHeuristicResult_t results[],
                             int* found) {
  *found = 0;
  if (const cublasStatus_t status = status_of("get_heuristic"); status != CUBLAS_STATUS_SUCCESS) return status;
  const Product product = product_of(description, a, b, c, d);
  if (wanted < 1 || !product.is_valid()) return CUBLAS_STATUS_INVALID_VALUE;
  {
    const std::lock_guard lock(mutex);
    if (faults.has_no_bf16 && product.needs_bf16()) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (faults.has_no_epilogue && product.description.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  }
  const auto& preference = of<Preference>(given);
  Algorithm algorithm{std::min(preference.workspace, wanted_workspace), {}};
  std::copy_n(preference.alignment, 4, algorithm.alignment);
  results[0] = {};
  static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

bool is_aligned(const void* pointer, std::uint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

template <class T, class Scale>
void enqueue_product(const Product& product, const void* alpha, const void* beta, const Operands<void>& operands,
                     void* workspace, std::size_t workspace_bytes, CUstream_st* stream) {
  const double a = static_cast<double>(*static_cast<const Scale*>(alpha));
  const double b = static_cast<double>(*static_cast<const Scale*>(beta));
  enqueue(stream, [=] {
    std::memset(workspace, 0xFF, workspace_bytes);  // nobody else's
    multiply<T>(product, a, b,
                {static_cast<const T*>(operands.a), static_cast<const T*>(operands.b),
                 static_cast<const T*>(operands.c), static_cast<T*>(operands.d)});
  });
}

cublasStatus_t matmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                      const void* c, cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                      const cublasLtMatmulAlgo_t* chosen, void* workspace, std::size_t workspace_bytes,
                      CUstream_st* stream) {
  if (const cublasStatus_t status = status_of("matmul"); status != CUBLAS_STATUS_SUCCESS) return status;
  const Product product = product_of(description, a_layout, b_layout, c_layout, d_layout);
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  if (!product.is_valid() || workspace_bytes < algorithm.workspace || !is_aligned(workspace, workspace_alignment) ||
      !is_aligned(a, algorithm.alignment[0]) || !is_aligned(b, algorithm.alignment[1]) ||
      !is_aligned(c, algorithm.alignment[2]) || !is_aligned(d, algorithm.alignment[3])) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Layout* const layouts[] = {&product.a, &product.b, &product.c, &product.d};
  const std::int64_t element = product.a.type == CUDA_R_64F ? 8 : product.a.type == CUDA_R_16BF ? 2 : 4;
  for (int k = 0; k < 4; ++k) {
    const bool has_next = layouts[k]->batches > 1;
    if (has_next && layouts[k]->distance * element % algorithm.alignment[k] != 0) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const void* const bias = product.description.bias;
  if (product.description.has_bias() && (bias == nullptr || !is_aligned(bias, bias_alignment))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto enqueue_typed = product.a.type == CUDA_R_64F    ? enqueue_product<double, double>
                             : product.a.type == CUDA_R_16BF ? enqueue_product<BFloat16, float>
                                                             : enqueue_product<float, float>;
  enqueue_typed(product, alpha, beta, {a, b, c, d}, workspace, algorithm.workspace, stream);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

void set_faults(const CublasLtFaults& given) {
  const std::lock_guard lock(mutex);
  faults = given;
  calls.clear();
}
std::map<std::string, int> cublaslt_calls() {
  const std::lock_guard lock(mutex);
  return calls;
}
int cublaslt_objects() {
  const std::lock_guard lock(mutex);
  return objects;
}

}  // namespace asyncgrad::tests::emulator

namespace asyncgrad::detail::cuda {

// In place of backends/cuda/cublaslt.cpp.
const CublasLt& cublaslt() {
  namespace e = tests::emulator;
  static const CublasLt lt{.get_status_name = e::get_status_name,
                           .create = e::create,
                           .destroy = e::destroy,
                           .matmul = e::matmul,
                           .matmul_algo_get_heuristic = e::get_heuristic,
                           .matmul_desc_create = e::create_description,
                           .matmul_desc_destroy = e::destroy_description,
                           .matmul_desc_set_attribute = e::set_description,
                           .matrix_layout_create = e::create_layout,
                           .matrix_layout_destroy = e::destroy_layout,
                           .matrix_layout_set_attribute = e::set_layout,
                           .matmul_preference_create = e::create_preference,
                           .matmul_preference_destroy = e::destroy_preference,
                           .matmul_preference_set_attribute = e::set_preference};
  return lt;
}

}  // namespace asyncgrad::detail::cuda
