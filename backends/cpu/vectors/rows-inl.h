// The parts of reductions along a contiguous row, for each instruction set. Internal.
//
// A sum adds in the same order under every instruction set: 64 running sums over blocks of 4096 elements, folded in
// halves; the sums of blocks are added in double. A maximum is found in the same way. Thus float32 loses no more than
// some 70 roundings for any length.
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vectors/vector_math-inl.h"

#if defined(ASYNCGRAD_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_ROWS_INL
#undef ASYNCGRAD_ROWS_INL
#else
#define ASYNCGRAD_ROWS_INL
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "asyncgrad/backends/cpu/vectors/prefetch.h"
#include "asyncgrad/core/backend/attributes/reductions.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

inline constexpr std::int64_t running_sums = 64;
inline constexpr std::int64_t block_elements = summed_in_row;
// The longest rows whose elements are summed one by one.
inline constexpr std::int64_t short_row = 16;

// The vectors in which running results are kept.
template <class T>
inline constexpr std::size_t running_vectors = running_sums / lanes_of<T>;

// Folds the lanes of a vector in halves: combine(lower, upper) until one is left.
template <class D, class V, class Combine>
HWY_INLINE hn::TFromD<D> fold_lanes([[maybe_unused]] D d, V lanes, [[maybe_unused]] Combine combine) {
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(lanes);
#else
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(lanes);
  } else {
    const hn::Half<D> half;
    return fold_lanes(half, combine(hn::LowerHalf(half, lanes), hn::UpperHalf(half, lanes)), combine);
  }
#endif
}
// Does the same for all running vectors, seen as one vector of running_sums lanes, until one vector is left.
template <class T, class Combine>
HWY_INLINE Lanes<T> fold_vectors(Lanes<T> (&running)[running_vectors<T>], Combine combine) {
  for (std::size_t width = running_vectors<T> / 2; width > 0; width /= 2) {
    for (std::size_t v = 0; v < width; ++v) running[v] = combine(running[v], running[v + width]);
  }
  return running[0];
}
template <class T, class Combine>
HWY_INLINE T fold(Lanes<T> (&running)[running_vectors<T>], Combine combine) {
  return fold_lanes(hn::ScalableTag<T>(), fold_vectors<T>(running, combine), combine);
}

template <class T>
using Running = Lanes<T>[running_vectors<T>];

// Calls add(v, i) for each vector of elements [i, …) and the running sum v that it belongs to.
template <class T, class Add>
HWY_INLINE void each_vector(std::int64_t begin, std::int64_t end, Add add) {
  std::int64_t i = begin;
  for (; i + running_sums <= end; i += running_sums) {
    for (std::size_t v = 0; v < running_vectors<T>; ++v) add(v, i + static_cast<std::int64_t>(v) * lanes_of<T>);
  }
  for (std::size_t v = 0; i < end; ++v, i += lanes_of<T>) add(v, i);
}

struct AddLanes {
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    return hn::Add(x, y);
  }
};

// The products x[i] y[i], or x[i] if Product is false, from i on. Elements from `count` on are 0.
template <bool Product, class T>
HWY_INLINE Lanes<T> terms(const T* x, const T* y, std::int64_t count) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T beside[VectorMath<T>::lanes];
  const auto load = [&](const T* from) HWY_ATTR {
    return count < lanes_of<T> ? load_part_of(hn::Zero(d), from, count, beside) : hn::LoadU(d, from);
  };
  if constexpr (Product) {
    return hn::Mul(load(x), load(y));
  } else {
    return load(x);
  }
}

// The sum of x[i] y[i], or of x[i] if Product is false, over at most block_elements elements.
template <bool Product, class T>
HWY_INLINE double block_sum(const T* x, const T* y, std::int64_t n) {
  Lanes<T> running[running_vectors<T>];
  for (auto& sum : running) sum = hn::Zero(hn::ScalableTag<T>());
  std::int64_t i = 0;
  for (; i + running_sums <= n; i += running_sums) {
    prefetch(x + i + prefetched_ahead, running_sums);
    for (auto& sum : running) {
      const std::int64_t at = i + (&sum - running) * lanes_of<T>;
      sum = hn::Add(sum, terms<Product>(x + at, y + at, lanes_of<T>));
    }
  }
  for (std::size_t v = 0; i < n; ++v, i += lanes_of<T>) {
    running[v] = hn::Add(running[v], terms<Product>(x + i, y + i, n - i));
  }
  return fold<T>(running, AddLanes());
}

template <bool Product, class T>
HWY_INLINE double row_sum_of(const T* x, const T* y, std::int64_t n) {
  double sum = 0;
  if (n <= short_row) {
    for (std::int64_t i = 0; i < n; ++i) {
      sum += Product ? static_cast<double>(x[i]) * static_cast<double>(y[i]) : static_cast<double>(x[i]);
    }
    return sum;
  }
  for (std::int64_t i = 0; i < n; i += block_elements) {
    sum += block_sum<Product>(x + i, y + i, std::min(block_elements, n - i));
  }
  return sum;
}

template <class T>
double row_sum(const T* x, std::int64_t n) {
  return row_sum_of<false>(x, x, n);
}
template <class T>
double row_dot(const T* x, const T* y, std::int64_t n) {
  return row_sum_of<true>(x, y, n);
}

// The larger (or smaller) of two, or NaN if either is NaN; y if both are equal.
template <bool Largest>
struct Extreme {
  template <class T>
  static HWY_INLINE T of(T x, T y) {
    return ((Largest ? x > y : x < y) | (x != x)) ? x : y;  // NOLINT(misc-redundant-expression): NaN
  }
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    const V beyond = hn::IfThenElse(Largest ? hn::Gt(x, y) : hn::Lt(x, y), x, y);
    return hn::IfThenElse(hn::Eq(x, x), beyond, x);
  }
};

// Combines all of at least one element.
template <class T, class Combine>
HWY_INLINE T fold_row(const T* x, std::int64_t n, Combine combine) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  HWY_ALIGN T beside[VectorMath<T>::lanes];
  const auto first = hn::Set(d, x[0]);
  if (n <= lanes) return fold_lanes(d, n < lanes ? load_part_of(first, x, n, beside) : hn::LoadU(d, x), combine);
  Lanes<T> running[running_vectors<T>];
  for (auto& best : running) best = first;
  std::int64_t i = 0;
  for (; i + running_sums <= n; i += running_sums) {
    prefetch(x + i + prefetched_ahead, running_sums);
    for (auto& best : running) best = combine(hn::LoadU(d, x + i + (&best - running) * lanes), best);
  }
  for (std::size_t v = 0; i < n; ++v, i += lanes) {
    const auto part = i + lanes <= n ? hn::LoadU(d, x + i) : load_part_of(first, x + i, n - i, beside);
    running[v] = combine(part, running[v]);
  }
  return fold<T>(running, combine);
}
// The maximum (or minimum) of at least one element; NaN if one of them is NaN.
template <bool Largest, class T>
T row_extreme(const T* x, std::int64_t n) {
  return fold_row(x, n, Extreme<Largest>());
}

struct LargerLanes {
  template <class V>
  HWY_INLINE V operator()(V x, V y) const {
    return hn::Max(x, y);
  }
};
// The maximum, or any element if one of them is NaN.
template <class T>
T row_max(const T* x, std::int64_t n) {
  return fold_row(x, n, LargerLanes());
}

// out[i] = function(x[i]…), a vector at a time.
template <class T, class Function, class... In>
HWY_INLINE void map_row(T* out, std::int64_t n, Function function, const In*... x) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(function(hn::LoadU(d, x + i)...), d, out + i);
  if (i == n) return;
  HWY_ALIGN T beside[VectorMath<T>::lanes];
  store_part(function(load_part(x + i, n - i, beside)...), out + i, n - i, beside);
}

// out[i] = e^(x[i] - shift).
template <class T>
void row_exp(const T* x, T shift, T* out, std::int64_t n) {
  const auto shifts = hn::Set(hn::ScalableTag<T>(), shift);
  const auto power = [&](auto part)
                         HWY_ATTR { return VectorMath<T>::call(Is<Primitive::exp>(), hn::Sub(part, shifts)); };
  map_row(out, n, power, x);
}

// The sum of e^(x[i] - largest); the powers are written to `out` unless it is null.
template <class T>
double row_exp_sum(const T* x, T largest, T* out, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto shifts = hn::Set(d, largest), nothing = hn::Set(d, -std::numeric_limits<T>::infinity());
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += block_elements) {
    Running<T> running;
    for (auto& part : running) part = hn::Zero(d);
    const auto add = [&](std::size_t v, std::int64_t i) HWY_ATTR {
      const auto power = exponential(hn::Sub(load_up_to(nothing, x + i, n - i), shifts));
      running[v] = hn::Add(running[v], power);
      if (out != nullptr) store_up_to(power, out + i, n - i);
    };
    each_vector<T>(begin, std::min(n, begin + block_elements), add);
    sum += fold<T>(running, AddLanes());
  }
  return sum;
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_ROWS_INL
