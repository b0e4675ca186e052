// The error function and its complement, for each instruction set. Internal.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#if defined(ASYNCGRAD_ERROR_FUNCTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_ERROR_FUNCTION_INL
#undef ASYNCGRAD_ERROR_FUNCTION_INL
#else
#define ASYNCGRAD_ERROR_FUNCTION_INL
#endif

#include "asyncgrad/backends/cpu/vectors/exponential-inl.h"
#include "asyncgrad/backends/cpu/vectors/polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// erf(x) / x is a polynomial in x^2 for |x| <= 1. In float64 (1 + 2 x) e^(x^2) erfc(x) is one in t = (x - 3) / (x + 3) for
// x >= 0, after Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < inf",
// Mathematics of Computation 36, 1981. In float32 e^(x^2) erfc(x) / t is one in t = 1 / (1 + 0.37 x) for 0 <= x < 9.25,
// whose largest relative error, 1.5e-8, is as small as its degree allows.
template <class T>
struct ErrorSeries {  // float64
  static constexpr double of_erfc[] = {
      1.25300805826972965,    -0.135621106124581159,     -0.0475622943534491967,   0.129645158702759392,
      -0.119273663415386384,  0.0683080273440099038,     -0.0237705149171713368,   0.00252939181569396953,
      0.00188869034499917185, -0.000779832269654330652,  -0.000105159719584480648, 0.000125099342458372909,
      4.94919664996834531e-6, -0.0000201005422685256109, -7.30828146878361393e-7,  3.47237094497716817e-6,
      3.55760866840805944e-7, -6.16601146039872593e-7,   -1.40476543154284623e-7,  1.01836206038427366e-7,
      4.10640136679403528e-8, -1.33129196610386877e-8,   -8.21759505871145386e-9,  9.86253351034558759e-10,
      8.39373485869087755e-10};
  static constexpr double of_erf[] = {1.12837916709551257,     -0.376126389031837481,     0.112837916709548816,
                                      -0.0268661706450773342,  0.00522397762482322257,    -0.0008548326981129666,
                                      0.000120553311222992653, -0.0000149255955195060435, 1.64610044809620347e-6,
                                      -1.63503544619596556e-7, 1.46600519983948477e-8,    -1.13739022964309116e-9,
                                      5.95893074313494122e-11};
  static constexpr double zero_from = 28;  // where erfc is 0 in the type
};
template <>
struct ErrorSeries<float> {
  static constexpr double of_erfc[] = {0.2088165034,  0.2073843233, 0.2065705153,  0.1053076012, 0.3136068579,
                                       -0.2893283813, 0.4903261937, -0.3049506584, 0.06226702994};
  static constexpr double of_erf[] = {1.128379166,    -0.376126269,     0.1128359746, -0.0268543288,
                                      0.005189311943, -0.0008018854993, 7.88249711e-5};
  static constexpr double zero_from = 9.19;  // where erfc is no normal number any more
};

// e^(x^2) erfc(x) for 0 <= x < zero_from.
template <class T>
HWY_INLINE Lanes<T> scaled_erfc(Lanes<T> x) {
  const hn::ScalableTag<T> d;
  const auto one = hn::Set(d, T{1});
  if constexpr (sizeof(T) == 4) {
    const auto t = hn::Div(one, hn::MulAdd(x, hn::Set(d, static_cast<T>(0.37)), one));
    return hn::Mul(polynomial<T>(ErrorSeries<T>::of_erfc, t), t);
  } else {
    const auto three = hn::Set(d, T{3}), above = hn::Add(x, three), denominator = hn::Add(one, hn::Add(x, x));
    const auto inverse = hn::Div(one, hn::Mul(above, denominator));  // one division for two
    const auto t = hn::Mul(hn::Mul(hn::Sub(x, three), denominator), inverse);
    return hn::Mul(polynomial<T>(ErrorSeries<T>::of_erfc, t), hn::Mul(above, inverse));
  }
}

// erfc(|x|). Needs products and sums that are rounded once, as every instruction set with vectors has them.
template <class T>
HWY_INLINE Lanes<T> erfc_of_size(Lanes<T> x) {
  const hn::ScalableTag<T> d;
  const auto is_some = hn::Lt(hn::Abs(x), hn::Set(d, static_cast<T>(ErrorSeries<T>::zero_from)));
  x = hn::IfThenElseZero(is_some, hn::Abs(x));
  const auto square = hn::Mul(x, x), rest = hn::MulSub(x, x, square);  // what the square lost by rounding
  const auto power = exponential_of_normal(hn::Neg(square));
  return hn::IfThenElseZero(is_some, hn::Mul(hn::NegMulAdd(power, rest, power), scaled_erfc<T>(x)));
}

template <class T>
HWY_INLINE Lanes<T> vector_erfc(Lanes<T> x) {
  const hn::ScalableTag<T> d;
  const auto positive = erfc_of_size<T>(x);
  const auto y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, T{2}), positive), positive);
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

template <class T>
HWY_INLINE Lanes<T> vector_erf(Lanes<T> x) {
  const hn::ScalableTag<T> d;
  const auto size = hn::Abs(x), one = hn::Set(d, T{1});
  const auto near = hn::Mul(x, polynomial<T>(ErrorSeries<T>::of_erf, hn::Mul(x, x)));
  const auto far = hn::CopySign(hn::Sub(one, erfc_of_size<T>(x)), x);
  return hn::IfThenElse(hn::Gt(size, one), far, near);  // near for NaN, which it keeps
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_ERROR_FUNCTION_INL
