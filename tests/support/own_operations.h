// Operations of one's own, as a user writes them.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "asyncgrad/asyncgrad.h"

namespace asyncgrad::tests {

// gelu(x) = x Phi(x) in one pass, and its gradient dy (Phi(x) + x phi(x)) in another.
template <class T>
Tensor fused_gelu(const Tensor& x) {
  const auto normal = [](T v) { return T(0.5) * (1 + std::erf(v / std::numbers::sqrt2_v<T>)); };
  const Tensor y = custom("fused_gelu", {.shape = x.shape(), .dtype = dtype_of<T>}, {x.detach()},
                          [normal](const CustomCall& call) {
                            const auto in = call.input<T>(0);
                            const auto out = call.output<T>();
                            const auto [begin, end] = call.part_of(static_cast<std::int64_t>(in.size()));
                            for (std::int64_t i = begin; i < end; ++i) {
                              const auto k = static_cast<std::size_t>(i);
                              out[k] = in[k] * normal(in[k]);
                            }
                          },
                          {.tiles = 3});
  return with_gradient("fused_gelu", y, {x},
                       [normal](const GradientCall& call) {
                         return custom("fused_gelu_grad", {.shape = call.dy().shape(), .dtype = dtype_of<T>},
                                       {call.dy(), call.saved(0)}, [normal](const CustomCall& call) {
                                         const auto dy = call.input<T>(0), in = call.input<T>(1);
                                         const auto dx = call.output<T>();
                                         for (std::size_t i = 0; i < in.size(); ++i) {
                                           const T density =
                                               std::exp(-in[i] * in[i] / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
                                           dx[i] = dy[i] * (normal(in[i]) + in[i] * density);
                                         }
                                       });
                       },
                       {x});
}

// Rows of x by their numbers; the gradient adds rows to zeros, in the order of the numbers.
template <class T>
Tensor rows_of(const Tensor& x, const Tensor& numbers) {
  const Tensor y = custom("rows_of", {.shape = {numbers.size(0), x.size(1)}, .dtype = x.dtype()}, {x.detach(), numbers},
                          [](const CustomCall& call) {
                            const auto in = call.input<T>(0);
                            const auto rows = call.input<std::int64_t>(1);
                            const auto out = call.output<T>();
                            const auto width = static_cast<std::size_t>(call.input_shape(0)[1]);
                            for (std::size_t i = 0; i < rows.size(); ++i) {
                              const auto row = static_cast<std::size_t>(rows[i]);
                              if (row * width >= in.size()) throw std::out_of_range("there is no such row");
                              std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                                          out.begin() + static_cast<std::ptrdiff_t>(i * width));
                            }
                          });
  const Shape shape = x.shape();
  return with_gradient("rows_of", y, {x}, [shape, numbers](const GradientCall& call) {
    const Tensor dx = zeros(shape, {.dtype = dtype_of<T>});
    custom_many("rows_of_grad", {}, {dx, numbers, call.dy()},
                [](const CustomCall& call) {
                  const auto dx = call.in_place<T>(0);
                  const auto rows = call.input<std::int64_t>(1);
                  const auto dy = call.input<T>(2);
                  const auto width = static_cast<std::size_t>(call.input_shape(0)[1]);
                  for (std::size_t i = 0; i < rows.size(); ++i) {
                    for (std::size_t j = 0; j < width; ++j) {
                      dx[static_cast<std::size_t>(rows[i]) * width + j] += dy[i * width + j];
                    }
                  }
                },
                {.in_place = {0}});
    return dx;
  });
}

}  // namespace asyncgrad::tests
