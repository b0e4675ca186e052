// The parts of dense other than the product, and its gradient through the activation and the bias.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/pack.cuh"
#include "asyncgrad/backends/cuda/kernels/product.h"
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"
#include "asyncgrad/backends/element_types.h"

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

template <class T>
struct FinishDense {
  T* out;
  const T* bias;  // or null
  std::int64_t columns;
  bool relu, is_zero;

  __device__ T finished(T product, T bias_here) const {
    const T y = (is_zero ? T(0) : product) + bias_here;
    return relu ? larger(y, T(0)) : y;
  }
  __device__ void operator()(std::int64_t i) const {
    out[i] = finished(out[i], bias == nullptr ? T(0) : bias[divided(i, columns).remainder]);
  }
};

// The same of a pack of elements of one row.
template <class T>
struct FinishDensePack : FinishDense<T> {
  __device__ void operator()(std::int64_t i) const {
    Pack<T> y = pack_at(this->out, i), bias_here{};
    if (this->bias != nullptr) bias_here = pack_at(this->bias, divided(i, this->columns / Pack<T>::size).remainder);
    for (int j = 0; j < Pack<T>::size; ++j) y.x[j] = this->finished(y.x[j], bias_here.x[j]);
    pack_at(this->out, i) = y;
  }
};

template <class T>
void finish(const KernelCall& call, const T* bias, ActivationKind activation, bool is_zero) {
  const FinishDense<T> finish{call.data<T>(0), bias, call.shape(0)[1], activation == ActivationKind::relu, is_zero};
  if (finish.columns % Pack<T>::size != 0 || !is_aligned_for_packs(finish.out) || !is_aligned_for_packs(bias)) {
    return for_each(call, call.numel(0), finish);
  }
  for_each(call, call.numel(0) / Pack<T>::size, FinishDensePack<T>{finish});
}

// --- dz = activation'(y) dy, and dbias, the sums of its columns, in one pass.

template <class T>
struct DenseGrad : Summing<T> {
  const T *y, *dy;  // y is null if there is no activation
  T *dz, *dbias;

  // dz may be in the place of dy. A thread loads its element before it stores it, so loads need not wait for stores of
  // other elements.
  __device__ T operator()(std::int64_t i) const {
    const T passed = __ldcs(dy + i);
    return dz[i] = y == nullptr || __ldcs(y + i) > T(0) ? passed : T(0);
  }
  __device__ double value(std::int64_t, std::int64_t element) const { return (*this)(element); }
  __device__ void finish(std::int64_t column, double sum) const { dbias[column] = static_cast<T>(sum); }
};

Lines columns_of(const KernelCall& call) { return {1, call.shape(0)[0], call.shape(0)[1]}; }

void run_dense_grad(const KernelCall& call, int) {
  const auto& attributes = call.attributes<DenseAttributes>();
  const int y = attributes.has_bias ? 2 : 1;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    DenseGrad<T> grad{{}, nullptr, call.data<T>(y + 1), call.data<T>(0), nullptr};
    if (attributes.activation == ActivationKind::relu) grad.y = call.data<T>(y);
    if (!attributes.has_bias) return for_each(call, call.numel(0), grad);
    grad.dbias = call.data<T>(1);
    reduce(call, columns_of(call), grad, call.scratch);
  });
}

}  // namespace

void finish_dense(const KernelCall& call, const float* bias, ActivationKind activation, bool is_zero) {
  finish(call, bias, activation, is_zero);
}
void finish_dense(const KernelCall& call, const double* bias, ActivationKind activation, bool is_zero) {
  finish(call, bias, activation, is_zero);
}

constinit const Kernel kernels::dense_grad{
    .run = run_dense_grad,
    .prepare =
        [](const KernelCall& call) {
          if (!is_floating(call.dtype(0))) throw_error("dense", "is not for int64");
        },
    .scratch_bytes =
        [](const KernelCall& call) {
          return call.attributes<DenseAttributes>().has_bias ? reduce_scratch_bytes(columns_of(call)) : 0;
        }};

}  // namespace asyncgrad::detail::cuda
