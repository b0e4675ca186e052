// sum, max, min, their gradient, any, all, argmax and argmin along an axis.
#include "asyncgrad/backends/cuda/kernels/reduce.cuh"

#include "asyncgrad/backends/cuda/families.h"

namespace asyncgrad::detail::cuda {

namespace {

std::int64_t scratch_bytes(const KernelCall& call) { return reduce_scratch_bytes(lines_of(call)); }

// Booleans count as 0 or 1.
template <class In, class T>
struct Sum : Summing<In> {
  using Partial = typename Summing<In>::Partial;
  const In* in;
  T* out;
  double scale;
  bool of_squares;

  __device__ Partial value(std::int64_t, std::int64_t element) const {
    const auto x = static_cast<Partial>(in[element]);
    return of_squares ? x * x : x;
  }
  __device__ void finish(std::int64_t line, Partial sum) const {
    if constexpr (std::is_integral_v<T>) {
      out[line] = static_cast<T>(sum);
    } else {
      out[line] = static_cast<T>(static_cast<double>(sum) * scale);
    }
  }
};

template <class In, class T>
void run_sum_of(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  reduce(call, lines_of(call), Sum<In, T>{{}, call.data<In>(1), call.data<T>(0), a.scale, a.of_squares}, call.scratch);
}
void run_sum(const KernelCall& call, int) {
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    if (call.dtype(1) == DType::boolean) return run_sum_of<std::uint8_t, T>(call);
    run_sum_of<T, T>(call);
  });
}

// max is the last of all in one order, min in the other.
template <class T>
struct Ascending {
  static __device__ bool is_beyond(T x, T y) { return x > y; }
  static __device__ T identity() { return lowest<T>(); }
};
template <class T>
struct Descending {
  static __device__ bool is_beyond(T x, T y) { return x < y; }
  static __device__ T identity() {
    if constexpr (std::is_integral_v<T>) {
      return std::numeric_limits<T>::max();
    } else {
      return std::numeric_limits<T>::infinity();
    }
  }
};

template <class T, class Order>
struct Extreme {
  using Partial = T;
  const T* in;
  T* out;

  __device__ T identity() const { return Order::identity(); }
  __device__ T value(std::int64_t, std::int64_t element) const { return in[element]; }
  __device__ T combine(T x, T y) const { return Order::is_beyond(x, y) || x != x ? x : y; }
  __device__ void finish(std::int64_t line, T extreme) const { out[line] = extreme; }
};

template <template <class> class Order>
void run_extreme(const KernelCall& call, int) {
  if (lines_of(call).axis == 0) return;
  visit_arithmetic(call.dtype(0), [&]<class T>(T) {
    reduce(call, lines_of(call), Extreme<T, Order<T>>{call.data<T>(1), call.data<T>(0)}, call.scratch);
  });
}

// any and all, for bytes that are 0 or 1: whether there is an element that decides.
template <int decisive>
struct Decision {
  using Partial = int;
  const std::uint8_t* in;
  std::uint8_t* out;

  __device__ int identity() const { return 1 - decisive; }
  __device__ int value(std::int64_t, std::int64_t element) const { return in[element]; }
  __device__ int combine(int x, int y) const { return x == decisive ? x : y; }
  __device__ void finish(std::int64_t line, int result) const { out[line] = static_cast<std::uint8_t>(result); }
};

template <int decisive>
void run_decision(const KernelCall& call, int) {
  reduce(call, lines_of(call), Decision<decisive>{call.data<std::uint8_t>(1), call.data<std::uint8_t>(0)},
         call.scratch);
}

// The first of equal elements. NaN counts as larger (or smaller) than all numbers.
template <class T, class Order>
struct ArgExtreme {
  struct Partial {
    T value;
    std::int64_t element;  // of the input, -1 for none
  };
  const T* in;
  std::int64_t* out;
  Lines lines;

  __device__ Partial identity() const { return {Order::identity(), -1}; }
  __device__ Partial value(std::int64_t, std::int64_t element) const { return {in[element], element}; }
  __device__ Partial combine(const Partial& x, const Partial& y) const {
    if (x.element < 0) return y;
    if (y.element < 0) return x;
    const bool x_is_nan = x.value != x.value, y_is_nan = y.value != y.value;
    const bool equal = x_is_nan ? y_is_nan : x.value == y.value;
    if (equal) return x.element < y.element ? x : y;
    return x_is_nan || Order::is_beyond(x.value, y.value) ? x : y;
  }
  __device__ void finish(std::int64_t line, const Partial& best) const {
    out[line] = best.element < 0 ? 0 : (best.element - lines.first(line)) / lines.inner;
  }
};

template <template <class> class Order>
void run_argextreme(const KernelCall& call, int) {
  const Lines lines = lines_of(call);
  visit_arithmetic(call.dtype(1), [&]<class T>(T) {
    reduce(call, lines, ArgExtreme<T, Order<T>>{call.data<T>(1), call.data<std::int64_t>(0), lines}, call.scratch);
  });
}

// --- The gradient of max and min: how many elements are equal to the extreme, and then each one's share.

// NaN is equal to NaN here, so that the gradient of an extreme that is NaN goes where it came from.
template <class T>
__device__ bool same(T x, T y) {
  return x == y || (x != x && y != y);
}

template <class T>
struct Shares : Summing<std::int64_t> {
  const T *x, *y, *dy;
  T* shares;

  __device__ std::uint64_t value(std::int64_t line, std::int64_t element) const {
    return same(x[element], y[line]) ? 1 : 0;
  }
  __device__ void finish(std::int64_t line, std::uint64_t count) const {
    shares[line] = dy[line] / static_cast<T>(count);
  }
};

template <class T>
struct Share {
  const T *x, *y, *shares;
  T* dx;
  LineOf line_of;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t line = line_of(i);
    dx[i] = same(x[i], y[line]) ? shares[line] : T(0);
  }
};

std::int64_t max_grad_scratch_bytes(const KernelCall& call) {
  return scratch_bytes(call) + call.numel(2) * call.element_bytes(0);
}

void run_max_grad(const KernelCall& call, int) {
  if (call.numel(0) == 0) return;
  const Lines lines = lines_of(call);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const T *const x = call.data<T>(1), *const y = call.data<T>(2), *const dy = call.data<T>(3);
    T* const shares = reinterpret_cast<T*>(call.scratch + reduce_scratch_bytes(lines));
    reduce(call, lines, Shares<T>{{}, x, y, dy, shares}, call.scratch);
    for_each(call, call.numel(0), Share<T>{x, y, shares, call.data<T>(0), LineOf(lines)});
  });
}

}  // namespace

constinit const Kernel kernels::sum{.run = run_sum, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::max{.run = run_extreme<Ascending>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::min{.run = run_extreme<Descending>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::any{.run = run_decision<1>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::all{.run = run_decision<0>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::max_grad{.run = run_max_grad, .scratch_bytes = max_grad_scratch_bytes};
constinit const Kernel kernels::argmax{.run = run_argextreme<Ascending>, .scratch_bytes = scratch_bytes};
constinit const Kernel kernels::argmin{.run = run_argextreme<Descending>, .scratch_bytes = scratch_bytes};

}  // namespace asyncgrad::detail::cuda
