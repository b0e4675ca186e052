// The quantile function of the normal distribution. For the sources of layers.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace asyncgrad::nn::layer_detail {

// The x at which N(0, 1) has the probability 1/2 + q below it, for |q| < 1/2, to about 16 digits. (Wichura 1988,
// "Algorithm AS 241: The Percentage Points of the Normal Distribution", function PPND16.)
inline double normal_quantile(double q) {
  using Coefficients = std::array<double, 8>;  // of a polynomial, that of the highest power first
  const auto value = [](const Coefficients& coefficients, double r) {
    double sum = 0;
    for (const double c : coefficients) sum = sum * r + c;
    return sum;
  };
  if (std::abs(q) <= 0.425) {
    constexpr Coefficients above{2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
                                 45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
                                 133.14166789178437745, 3.3871328727963666080};
    constexpr Coefficients below{
        5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
        5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1};
    const double r = 0.180625 - q * q;
    return q * value(above, r) / value(below, r);
  }
  const double r = std::sqrt(-std::log(0.5 - std::abs(q)));
  if (r <= 5) {
    constexpr Coefficients above{7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                                 1.27045825245236838258,    3.64784832476320460504,    5.76949722146069140550,
                                 4.63033784615654529590,    1.42343711074968357734};
    constexpr Coefficients below{
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
        6.89767334985100004550e-1, 1.67638483018380384940,    2.05319162663775882187,    1};
    return std::copysign(value(above, r - 1.6) / value(below, r - 1.6), q);
  }
  constexpr Coefficients above{2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                               2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
                               5.46378491116411436990,    6.65790464350110377720};
  constexpr Coefficients below{
      2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
      1.48753612908506148525e-2,  1.36929880922735805310e-1, 5.99832206555887937690e-1, 1};
  return std::copysign(value(above, r - 5) / value(below, r - 5), q);
}

}  // namespace asyncgrad::nn::layer_detail
