// Compiled once for every instruction set. The formulas are those of PyTorch's RNN, GRU and LSTM.
#include "asyncgrad/backends/cpu/sequences/recurrent_rows.h"

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/sequences/recurrent_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vectors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The elements [at, at + count) of rows, no more than a vector.
template <class T>
struct Piece {
  using V = hn::Vec<hn::ScalableTag<T>>;
  static constexpr auto lanes = static_cast<std::int64_t>(VectorMath<T>::lanes);

  std::int64_t n, at, count;

  // The elements of part `part` of a row.
  HWY_INLINE V load(const T* row, std::int64_t part = 0) const { return load_up_to(row + part * n + at, count); }
  HWY_INLINE void store(V vector, T* row, std::int64_t part = 0) const {
    store_up_to(vector, row + part * n + at, count);
  }
};

template <class T, class Function>
HWY_INLINE void each_piece(std::int64_t n, Function function) {
  for (std::int64_t at = 0; at < n; at += Piece<T>::lanes) function(Piece<T>{n, at, n - at});
}

template <class T>
HWY_INLINE auto ones() {
  return hn::Set(hn::ScalableTag<T>(), T{1});
}
template <class T, class V>
HWY_INLINE V logistic(V x) {
  return hn::Div(ones<T>(), hn::Add(ones<T>(), VectorMath<T>::call(Is<Primitive::exp>(), hn::Neg(x))));
}
template <class T, class V>
HWY_INLINE V tangent(V x) {
  return VectorMath<T>::call(Is<Primitive::tanh>(), x);
}
// y (1 - y), the derivative of the logistic function where its value is y.
template <class T, class V>
HWY_INLINE V logistic_derivative(V y) {
  return hn::Mul(y, hn::Sub(ones<T>(), y));
}
template <class T, class V>
HWY_INLINE V tangent_derivative(V y) {
  return hn::Sub(ones<T>(), hn::Mul(y, y));
}

// Gates i, f, g, o: c = f c + i g, h = o tanh(c).
template <class T>
void lstm(const CellRow<T>& row) {
  each_piece<T>(row.n, [&](const Piece<T>& piece) HWY_ATTR {
    const auto sum = [&](int gate) HWY_ATTR { return hn::Add(piece.load(row.x, gate), piece.load(row.z, gate)); };
    const auto i = logistic<T>(sum(0)), f = logistic<T>(sum(1)), g = tangent<T>(sum(2)), o = logistic<T>(sum(3));
    const auto c = hn::Add(hn::Mul(f, piece.load(row.c_before)), hn::Mul(i, g));
    piece.store(i, row.gates, 0);
    piece.store(f, row.gates, 1);
    piece.store(g, row.gates, 2);
    piece.store(o, row.gates, 3);
    piece.store(c, row.c);
    piece.store(hn::Mul(o, tangent<T>(c)), row.h);
  });
}

template <class T>
void lstm_grad(const CellGradRow<T>& row) {
  each_piece<T>(row.n, [&](const Piece<T>& piece) HWY_ATTR {
    const auto i = piece.load(row.gates, 0), f = piece.load(row.gates, 1), g = piece.load(row.gates, 2),
               o = piece.load(row.gates, 3), level = tangent<T>(piece.load(row.c));
    const auto dh = hn::Add(hn::Add(piece.load(row.dy), piece.load(row.dh)), piece.load(row.carried_h));
    const auto dc = hn::Add(piece.load(row.carried_c), hn::Mul(hn::Mul(dh, o), tangent_derivative<T>(level)));
    piece.store(hn::Mul(hn::Mul(dc, g), logistic_derivative<T>(i)), row.dx, 0);
    piece.store(hn::Mul(hn::Mul(dc, piece.load(row.c_before)), logistic_derivative<T>(f)), row.dx, 1);
    piece.store(hn::Mul(hn::Mul(dc, i), tangent_derivative<T>(g)), row.dx, 2);
    piece.store(hn::Mul(hn::Mul(dh, level), logistic_derivative<T>(o)), row.dx, 3);
    piece.store(hn::Mul(dc, f), row.carried_c);
    piece.store(hn::Zero(hn::ScalableTag<T>()), row.carried_h);
  });
}

// Gates r, z, n: n = tanh(x + r z's share), h = (1 - z) n + z h.
template <class T>
void gru(const CellRow<T>& row) {
  each_piece<T>(row.n, [&](const Piece<T>& piece) HWY_ATTR {
    const auto sum = [&](int gate) HWY_ATTR { return hn::Add(piece.load(row.x, gate), piece.load(row.z, gate)); };
    const auto r = logistic<T>(sum(0)), z = logistic<T>(sum(1)), share = piece.load(row.z, 2);
    const auto n = tangent<T>(hn::Add(piece.load(row.x, 2), hn::Mul(r, share)));
    piece.store(r, row.gates, 0);
    piece.store(z, row.gates, 1);
    piece.store(n, row.gates, 2);
    piece.store(share, row.gates, 3);
    piece.store(hn::Add(hn::Mul(hn::Sub(ones<T>(), z), n), hn::Mul(z, piece.load(row.h_before))), row.h);
  });
}

template <class T>
void gru_grad(const CellGradRow<T>& row) {
  each_piece<T>(row.n, [&](const Piece<T>& piece) HWY_ATTR {
    const auto r = piece.load(row.gates, 0), z = piece.load(row.gates, 1), n = piece.load(row.gates, 2),
               share = piece.load(row.gates, 3);
    const auto dh = hn::Add(hn::Add(piece.load(row.dy), piece.load(row.dh)), piece.load(row.carried_h));
    const auto dn = hn::Mul(hn::Mul(dh, hn::Sub(ones<T>(), z)), tangent_derivative<T>(n));
    const auto dr = hn::Mul(hn::Mul(dn, share), logistic_derivative<T>(r));
    const auto dz = hn::Mul(hn::Mul(dh, hn::Sub(piece.load(row.h_before), n)), logistic_derivative<T>(z));
    piece.store(dr, row.dx, 0);
    piece.store(dz, row.dx, 1);
    piece.store(dn, row.dx, 2);
    piece.store(dr, row.dz, 0);
    piece.store(dz, row.dz, 1);
    piece.store(hn::Mul(dn, r), row.dz, 2);
    piece.store(hn::Mul(dh, z), row.carried_h);
  });
}

template <class T>
void simple(RecurrentKind kind, const CellRow<T>& row) {
  const auto zero = hn::Zero(hn::ScalableTag<T>());
  each_piece<T>(row.n, [&](const Piece<T>& piece) HWY_ATTR {
    const auto sum = hn::Add(piece.load(row.x), piece.load(row.z));
    const auto relu = hn::IfThenElse(hn::Lt(sum, zero), zero, sum);
    piece.store(kind == RecurrentKind::tanh ? tangent<T>(sum) : relu, row.h);
  });
}

template <class T>
void simple_grad(RecurrentKind kind, const CellGradRow<T>& row) {
  const auto zero = hn::Zero(hn::ScalableTag<T>());
  each_piece<T>(row.n, [&](const Piece<T>& piece) HWY_ATTR {
    const auto dh = hn::Add(hn::Add(piece.load(row.dy), piece.load(row.dh)), piece.load(row.carried_h));
    const auto h = piece.load(row.h);
    piece.store(
        kind == RecurrentKind::tanh ? hn::Mul(dh, tangent_derivative<T>(h)) : hn::IfThenElseZero(hn::Gt(h, zero), dh),
        row.dx);
    piece.store(zero, row.carried_h);
  });
}

template <class T>
void cell(RecurrentKind kind, const CellRow<T>& row) {
  if (kind == RecurrentKind::lstm) return lstm(row);
  if (kind == RecurrentKind::gru) return gru(row);
  simple(kind, row);
}
template <class T>
void cell_grad(RecurrentKind kind, const CellGradRow<T>& row) {
  if (kind == RecurrentKind::lstm) return lstm_grad(row);
  if (kind == RecurrentKind::gru) return gru_grad(row);
  simple_grad(kind, row);
}

template <class T>
static constexpr RecurrentRows<T> functions{cell<T>, cell_grad<T>};
FloatingLoops<RecurrentRows> recurrent_rows() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(recurrent_rows);

const FloatingLoops<RecurrentRows>& recurrent_rows() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(recurrent_rows)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
