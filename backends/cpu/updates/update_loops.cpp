// The loops of optimisers, compiled once for every instruction set.
#include "asyncgrad/backends/cpu/updates/update_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <hwy/cache_control.h>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/updates/update_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// How far ahead of the loop every array is prefetched. The processor's own prefetching left memory idle for 3 to 9 % of
// a step, mostly at the ends of pages (Sapphire Rapids, 10^7 parameters; 512 to 4096 bytes do equally well).
inline constexpr std::int64_t ahead_bytes = 1024;

template <class T>
using Vector = hn::Vec<hn::ScalableTag<T>>;
template <class T>
HWY_INLINE Vector<T> all(T number) {
  return hn::Set(hn::ScalableTag<T>(), number);
}

// The formulas take a vector of each array that they update, and one of the gradient.
template <class T>
struct Sgd {
  SgdNumbers<T> a;

  HWY_INLINE void operator()(Vector<T> (&x)[1], Vector<T> g) const {
    auto& [p] = x;
    const auto slope = hn::Add(g, hn::Mul(all(a.weight_decay), p));
    p = hn::Sub(p, hn::Mul(all(a.lr), slope));
  }
};

template <class T, bool Nesterov>
struct SgdMomentum {
  SgdNumbers<T> a;

  HWY_INLINE void operator()(Vector<T> (&x)[2], Vector<T> g) const {
    auto& [p, v] = x;
    const auto slope = hn::Add(g, hn::Mul(all(a.weight_decay), p));
    v = hn::Add(hn::Mul(all(a.momentum), v), slope);
    const auto direction = Nesterov ? hn::Add(slope, hn::Mul(all(a.momentum), v)) : v;
    p = hn::Sub(p, hn::Mul(all(a.lr), direction));
  }
};

template <class T>
struct Adam {
  AdamNumbers<T> a;

  HWY_INLINE void operator()(Vector<T> (&x)[3], Vector<T> g) const {
    auto& [p, m, v] = x;
    const auto slope = hn::Add(g, hn::Mul(all(a.decay), p));
    m = hn::Add(hn::Mul(all(a.beta1), m), hn::Mul(all(a.rest1), slope));
    v = hn::Add(hn::Mul(all(a.beta2), v), hn::Mul(hn::Mul(all(a.rest2), slope), slope));
    const auto root = hn::Add(hn::Mul(hn::Sqrt(v), all(a.inverse_root)), all(a.epsilon));
    p = hn::Sub(hn::Mul(all(a.keep), p), hn::Div(hn::Mul(all(a.step_size), m), root));
  }
};

template <class T>
struct Adagrad {
  AdagradNumbers<T> a;

  HWY_INLINE void operator()(Vector<T> (&x)[2], Vector<T> g) const {
    auto& [p, s] = x;
    const auto slope = hn::Add(g, hn::Mul(all(a.weight_decay), p));
    s = hn::Add(s, hn::Mul(slope, slope));
    p = hn::Sub(p, hn::Div(hn::Mul(all(a.lr), slope), hn::Add(hn::Sqrt(s), all(a.epsilon))));
  }
};

// The arrays are p, v, then m if it is centered, then b with momentum.
template <class T, bool Centered, bool Momentum>
struct Rmsprop {
  static constexpr std::size_t arrays = 2 + (Centered ? 1 : 0) + (Momentum ? 1 : 0);
  RmspropNumbers<T> a;

  HWY_INLINE void operator()(Vector<T> (&x)[arrays], Vector<T> g) const {
    auto &p = x[0], &v = x[1];
    const auto slope = hn::Add(g, hn::Mul(all(a.weight_decay), p));
    v = hn::Add(hn::Mul(all(a.alpha), v), hn::Mul(hn::Mul(all(a.rest), slope), slope));
    auto variance = v;
    if constexpr (Centered) {
      auto& m = x[2];
      m = hn::Add(hn::Mul(all(a.alpha), m), hn::Mul(all(a.rest), slope));
      variance = hn::Sub(v, hn::Mul(m, m));
      variance = hn::IfThenZeroElse(hn::Lt(variance, all(T(0))), variance);  // a NaN stays
    }
    auto direction = hn::Div(slope, hn::Add(hn::Sqrt(variance), all(a.epsilon)));
    if constexpr (Momentum) {
      auto& b = x[arrays - 1];
      b = hn::Add(hn::Mul(all(a.momentum), b), direction);
      direction = b;
    }
    p = hn::Sub(p, hn::Mul(all(a.lr), direction));
  }
};

// Updates elements [0, n) of the arrays `x`; a rest that does not fill a vector is computed as a whole vector.
template <class T, std::size_t Arrays, class Formula>
HWY_INLINE void update(Formula formula, const std::array<T*, Arrays>& x, const T* g, std::int64_t n) {
  const hn::ScalableTag<T> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  constexpr std::int64_t line = 64 / sizeof(T), ahead = ahead_bytes / sizeof(T);
  std::int64_t i = 0;
  for (; i + line <= n; i += line) {
    const std::int64_t asked_for = std::min(i + ahead, n - 1);
    for (T* const array : x) hwy::Prefetch(array + asked_for);
    hwy::Prefetch(g + asked_for);
    for (std::int64_t j = i; j < i + line; j += lanes) {
      Vector<T> values[Arrays];
      for (std::size_t k = 0; k < Arrays; ++k) values[k] = hn::LoadU(d, x[k] + j);
      formula(values, hn::LoadU(d, g + j));
      for (std::size_t k = 0; k < Arrays; ++k) hn::StoreU(values[k], d, x[k] + j);
    }
  }
  HWY_ALIGN T room[lanes];
  while (i < n) {
    const std::int64_t count = std::min(n - i, lanes);
    Vector<T> values[Arrays];
    for (std::size_t k = 0; k < Arrays; ++k) values[k] = load_part(x[k] + i, count, room);
    formula(values, load_part(g + i, count, room));
    for (std::size_t k = 0; k < Arrays; ++k) store_part(values[k], x[k] + i, count, room);
    i += count;
  }
}

template <class T>
void sgd(const SgdNumbers<T>& numbers, T* p, const T* g, std::int64_t n) {
  update(Sgd<T>{numbers}, std::array<T*, 1>{p}, g, n);
}
template <class T, bool Nesterov>
void sgd_momentum(const SgdNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n) {
  update(SgdMomentum<T, Nesterov>{numbers}, std::array<T*, 2>{p, v}, g, n);
}
template <class T>
void adam(const AdamNumbers<T>& numbers, T* p, T* m, T* v, const T* g, std::int64_t n) {
  update(Adam<T>{numbers}, std::array<T*, 3>{p, m, v}, g, n);
}
template <class T>
void adagrad(const AdagradNumbers<T>& numbers, T* p, T* s, const T* g, std::int64_t n) {
  update(Adagrad<T>{numbers}, std::array<T*, 2>{p, s}, g, n);
}
template <class T>
void rmsprop(const RmspropNumbers<T>& numbers, T* p, T* v, const T* g, std::int64_t n) {
  update(Rmsprop<T, false, false>{numbers}, std::array<T*, 2>{p, v}, g, n);
}
// The third array is m or b.
template <class T, bool Centered>
void rmsprop(const RmspropNumbers<T>& numbers, T* p, T* v, T* third, const T* g, std::int64_t n) {
  update(Rmsprop<T, Centered, !Centered>{numbers}, std::array<T*, 3>{p, v, third}, g, n);
}
template <class T>
void rmsprop(const RmspropNumbers<T>& numbers, T* p, T* v, T* m, T* b, const T* g, std::int64_t n) {
  update(Rmsprop<T, true, true>{numbers}, std::array<T*, 4>{p, v, m, b}, g, n);
}

template <class T>
const UpdateLoops<T>& update_loops_of() {
  static constexpr UpdateLoops<T> loops = {.sgd = sgd<T>,
                                           .sgd_momentum = sgd_momentum<T, false>,
                                           .sgd_nesterov = sgd_momentum<T, true>,
                                           .adam = adam<T>,
                                           .adagrad = adagrad<T>,
                                           .rmsprop = rmsprop<T>,
                                           .rmsprop_centered = rmsprop<T, true>,
                                           .rmsprop_momentum = rmsprop<T, false>,
                                           .rmsprop_centered_momentum = rmsprop<T>};
  return loops;
}
const UpdateLoops<float>& float32_update_table() { return update_loops_of<float>(); }
const UpdateLoops<double>& float64_update_table() { return update_loops_of<double>(); }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(float32_update_table);
HWY_EXPORT(float64_update_table);

const UpdateLoops<float>& float32_updates() {
  static const UpdateLoops<float>& loops = HWY_DYNAMIC_DISPATCH(float32_update_table)();
  return loops;
}
const UpdateLoops<double>& float64_updates() {
  static const UpdateLoops<double>& loops = HWY_DYNAMIC_DISPATCH(float64_update_table)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
