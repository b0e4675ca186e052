// Mathematics of whole spans for kernels of one's own (autograd/custom.h): the functions of autograd/elementwise.h, by the
// library's vectors.
//
//   ag::custom("weights", {.shape = x.shape()}, {x}, [](const ag::CustomCall& call) {
//     ag::spans::exp(call.input<float>(0), call.output<float>());
//   });
//
// y[i] = f(x[i]). The instruction set of the processor is chosen once for each call, so that a call should have some
// hundred elements. In kernels results have the bits of the operations, and an element's do not depend on its place, so
// that the work may be cut anywhere. y may be x; other overlaps are not allowed. Several threads may call them at once.
// They do not block. They throw Error if y has not as many elements as x.
#pragma once

#include <cstdint>
#include <span>

namespace asyncgrad::spans {

// A function of the table of formulas. All there are follow.
class Function {
 public:
  explicit constexpr Function(const char* name, std::uint8_t formula) : name_(name), formula_(formula) {}
  void operator()(std::span<const float> x, std::span<float> y) const;
  void operator()(std::span<const double> x, std::span<double> y) const;
  const char* name() const { return name_; }  // of the operation in the namespace asyncgrad

 private:
  const char* name_;
  std::uint8_t formula_;
};

extern const Function exp, expm1, log, log1p, log2, log10, sqrt, rsqrt, square, abs, sign, floor, round;
extern const Function sin, cos, sinh, cosh, tanh, erf;
extern const Function relu, sigmoid, silu, softplus, softsign, gelu, gelu_tanh, hardswish, selu, mish;

}  // namespace asyncgrad::spans
