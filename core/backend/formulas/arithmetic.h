// Formulas of sums, products, quotients, signs and whole numbers. See ../formulas.h.
#pragma once

#include "asyncgrad/core/backend/formulas/row.h"

namespace asyncgrad::formulas {

struct Negate : Row<1, true> {
  static constexpr const char* name = "negate";
  static constexpr auto apply(const auto& m, auto x) { return m.neg(x); }
};
struct Add : Row<2, true> {
  static constexpr const char* name = "add";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.add(x, y); }
};
struct Subtract : Row<2, true> {
  static constexpr const char* name = "subtract";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.sub(x, y); }
};
struct Multiply : Row<2, true> {
  static constexpr const char* name = "multiply";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.mul(x, y); }
};
struct Divide : Row<2> {
  static constexpr const char* name = "divide";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.div(x, y); }
};
struct DivideGradY : Row<3> {  // from y and the output q = x / y: -q / y
  static constexpr const char* name = "divide_grad_y";
  static constexpr auto apply(const auto& m, auto y, auto q, auto dq) { return m.neg(m.mul(dq, m.div(q, y))); }
};

struct FloorDivide : Row<2, true> {
  static constexpr const char* name = "floor_divide";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.floor_divide(x, y); }
};
struct Remainder : Row<2, true> {
  static constexpr const char* name = "remainder";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.remainder(x, y); }
};
struct RemainderGradY : Row<3> {  // minus the quotient
  static constexpr const char* name = "remainder_grad_y";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) { return m.neg(m.mul(dz, m.floor_divide(x, y))); }
};

struct Square : Row<1, true> {
  static constexpr const char* name = "square";
  static constexpr auto apply(const auto& m, auto x) { return m.mul(x, x); }
};
struct SquareGrad : Row<2> {  // 2 x
  static constexpr const char* name = "square_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.mul(m.set(2), x)); }
};
struct Cube : Row<1> {
  static constexpr const char* name = "cube";
  static constexpr auto apply(const auto& m, auto x) { return m.mul(x, m.mul(x, x)); }
};
struct CubeGrad : Row<2> {  // 3 x^2
  static constexpr const char* name = "cube_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.mul(m.set(3), m.mul(x, x))); }
};

struct Abs : Row<1, true> {
  static constexpr const char* name = "abs";
  static constexpr auto apply(const auto& m, auto x) { return m.abs(x); }
};
struct AbsGrad : Row<2> {  // the sign of x, 0 at 0
  static constexpr const char* name = "abs_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) {
    const auto zero = m.set(0);
    return m.select(m.less(x, zero), m.neg(dy), m.select(m.less(zero, x), dy, zero));
  }
};
struct Sign : Row<1, true> {
  static constexpr const char* name = "sign";
  static constexpr auto apply(const auto& m, auto x) {
    return m.select(m.less(x, m.set(0)), m.set(-1), m.select(m.less(m.set(0), x), m.set(1), m.abs(x)));  // 0, or NaN
  }
};
struct Lerp : Row<3> {  // linear interpolation: from x to y by a share
  static constexpr const char* name = "lerp";
  static constexpr auto apply(const auto& m, auto x, auto y, auto share) { return m.add(x, m.mul(share, m.sub(y, x))); }
};
struct LerpGradX : Row<2> {  // 1 - share
  static constexpr const char* name = "lerp_grad_x";
  static constexpr auto apply(const auto& m, auto share, auto dz) { return m.sub(dz, m.mul(share, dz)); }
};
struct Floor : Row<1, true> {
  static constexpr const char* name = "floor";
  static constexpr auto apply(const auto& m, auto x) { return m.floor(x); }
};
struct Round : Row<1, true> {
  static constexpr const char* name = "round";
  static constexpr auto apply(const auto& m, auto x) { return m.round(x); }
};

}  // namespace asyncgrad::formulas
