// The table of elementwise formulas: every backend and every test goes through it.
//
// A row is a type with a name, the number of its inputs, whether int64 has it too, and the formula, written over a Math
// that a backend brings: SIMD vectors on a CPU, scalars on a GPU or in a reference. A Math `m` has, for its vector type
// V (the result of m.set):
//   m.set(double) -> V         m.add/sub/mul/div/min/max/pow(V, V) -> V      m.neg/abs/sqrt/exp/log/tanh(V) -> V
//   m.equal/less(V, V) -> mask                   m.select(mask, V if_true, V if_false) -> V
// min and max give NaN where either side is NaN.
//
// To add an elementwise operation: a row for the function, a row for its derivative, both in `Formulas`, and the
// declaration in autograd/elementwise.h that names whose gradient it is. Gradient rows take dy, the gradient of the
// result, last and return the gradient of one input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace asyncgrad::formulas {

// What rows share: Row<inputs, has an int64 form>.
template <int Inputs, bool Integers = false>
struct Row {
  static constexpr int inputs = Inputs;
  static constexpr bool integers = Integers;
};

struct Negate : Row<1, true> {
  static constexpr const char* name = "negate";
  static constexpr auto apply(const auto& m, auto x) { return m.neg(x); }
};
struct Relu : Row<1, true> {
  static constexpr const char* name = "relu";
  static constexpr auto apply(const auto& m, auto x) { return m.max(x, m.set(0)); }
};
struct ReluGrad : Row<2> {  // from the output: y > 0
  static constexpr const char* name = "relu_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.select(m.less(m.set(0), y), dy, m.set(0)); }
};
struct Sigmoid : Row<1> {  // 1 / (1 + e^-x), by e^-|x| so that nothing overflows
  static constexpr const char* name = "sigmoid";
  static constexpr auto apply(const auto& m, auto x) {
    const auto e = m.exp(m.neg(m.abs(x)));
    const auto denominator = m.add(m.set(1), e);
    return m.div(m.select(m.less(x, m.set(0)), e, m.set(1)), denominator);
  }
};
struct SigmoidGrad : Row<2> {  // from the output: y (1 - y)
  static constexpr const char* name = "sigmoid_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.mul(dy, m.mul(y, m.sub(m.set(1), y))); }
};
struct Tanh : Row<1> {
  static constexpr const char* name = "tanh";
  static constexpr auto apply(const auto& m, auto x) { return m.tanh(x); }
};
struct TanhGrad : Row<2> {  // from the output: 1 - y^2
  static constexpr const char* name = "tanh_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.mul(dy, m.sub(m.set(1), m.mul(y, y))); }
};
struct Exp : Row<1> {
  static constexpr const char* name = "exp";
  static constexpr auto apply(const auto& m, auto x) { return m.exp(x); }
};
struct Log : Row<1> {
  static constexpr const char* name = "log";
  static constexpr auto apply(const auto& m, auto x) { return m.log(x); }
};
struct Square : Row<1, true> {
  static constexpr const char* name = "square";
  static constexpr auto apply(const auto& m, auto x) { return m.mul(x, x); }
};
struct SquareGrad : Row<2> {  // 2 x
  static constexpr const char* name = "square_grad";
  static constexpr auto apply(const auto& m, auto x, auto dy) { return m.mul(dy, m.mul(m.set(2), x)); }
};
struct Sqrt : Row<1> {
  static constexpr const char* name = "sqrt";
  static constexpr auto apply(const auto& m, auto x) { return m.sqrt(x); }
};
struct SqrtGrad : Row<2> {  // from the output: 1 / (2 y)
  static constexpr const char* name = "sqrt_grad";
  static constexpr auto apply(const auto& m, auto y, auto dy) { return m.div(dy, m.mul(m.set(2), y)); }
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
struct Pow : Row<2> {
  static constexpr const char* name = "pow";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.pow(x, y); }
};
struct PowGradX : Row<3> {  // y x^(y-1), 0 where y is 0
  static constexpr const char* name = "pow_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    const auto zero = m.set(0);
    const auto slope = m.mul(dz, m.mul(y, m.pow(x, m.sub(y, m.set(1)))));
    return m.select(m.equal(y, zero), zero, slope);
  }
};
struct PowGradY : Row<3> {  // from x and the output z = x^y: z ln x, 0 where x is 0
  static constexpr const char* name = "pow_grad_y";
  static constexpr auto apply(const auto& m, auto x, auto z, auto dz) {
    const auto zero = m.set(0);
    return m.select(m.equal(x, zero), zero, m.mul(dz, m.mul(z, m.log(x))));
  }
};
struct Maximum : Row<2, true> {
  static constexpr const char* name = "maximum";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.max(x, y); }
};
struct Minimum : Row<2, true> {
  static constexpr const char* name = "minimum";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.min(x, y); }
};
struct LargerGrad : Row<3> {  // of maximum in its first input: dz where x > y, half of it where they are equal
  static constexpr const char* name = "larger_grad";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) {
    const auto half = m.mul(m.set(0.5), dz);
    return m.select(m.less(y, x), dz, m.select(m.equal(x, y), half, m.set(0)));
  }
};
struct Equal : Row<2, true> {  // comparisons give 1 or 0 in the type of their inputs
  static constexpr const char* name = "equal";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.equal(x, y), m.set(1), m.set(0)); }
};
struct Less : Row<2, true> {
  static constexpr const char* name = "less";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.less(x, y), m.set(1), m.set(0)); }
};
struct Greater : Row<2, true> {
  static constexpr const char* name = "greater";
  static constexpr auto apply(const auto& m, auto x, auto y) { return m.select(m.less(y, x), m.set(1), m.set(0)); }
};
struct Where : Row<3, true> {  // x where the condition is not 0, else y
  static constexpr const char* name = "where";
  static constexpr auto apply(const auto& m, auto condition, auto x, auto y) {
    return m.select(m.equal(condition, m.set(0)), y, x);
  }
};
struct SelectNonzero : Row<2> {  // dx where the condition is not 0: the gradient of where in its second input
  static constexpr const char* name = "select_nonzero";
  static constexpr auto apply(const auto& m, auto condition, auto dx) {
    return m.select(m.equal(condition, m.set(0)), m.set(0), dx);
  }
};
struct SelectZero : Row<2> {  // dx where the condition is 0: the gradient of where in its third input
  static constexpr const char* name = "select_zero";
  static constexpr auto apply(const auto& m, auto condition, auto dx) {
    return m.select(m.equal(condition, m.set(0)), dx, m.set(0));
  }
};
struct HalfSquaredError : Row<2> {  // (x - y)^2 / 2
  static constexpr const char* name = "half_squared_error";
  static constexpr auto apply(const auto& m, auto x, auto y) {
    const auto difference = m.sub(x, y);
    return m.mul(m.set(0.5), m.mul(difference, difference));
  }
};
struct HalfSquaredErrorGradX : Row<3> {  // x - y; the gradient in y is that of x with the inputs exchanged
  static constexpr const char* name = "half_squared_error_grad_x";
  static constexpr auto apply(const auto& m, auto x, auto y, auto dz) { return m.mul(dz, m.sub(x, y)); }
};

// Every row, in no particular order: a formula's id is its place here.
using Formulas = std::tuple<Negate, Relu, ReluGrad, Sigmoid, SigmoidGrad, Tanh, TanhGrad, Exp, Log, Square, SquareGrad,
                            Sqrt, SqrtGrad, Abs, AbsGrad, Add, Subtract, Multiply, Divide, DivideGradY, Pow, PowGradX,
                            PowGradY, Maximum, Minimum, LargerGrad, Equal, Less, Greater, Where, SelectNonzero,
                            SelectZero, HalfSquaredError, HalfSquaredErrorGradX>;
inline constexpr int count = std::tuple_size_v<Formulas>;

template <class Formula, std::size_t I = 0>
constexpr int id() {
  if constexpr (std::is_same_v<Formula, std::tuple_element_t<I, Formulas>>) {
    return static_cast<int>(I);
  } else {
    return id<Formula, I + 1>();
  }
}

}  // namespace asyncgrad::formulas
