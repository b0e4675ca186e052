// Shapes along whose middle axis kernels go, for the tests of reductions.
#pragma once

#include <type_traits>
#include <vector>

#include "tests/backends/cpu/kernel_runner.h"

namespace asyncgrad::detail {

struct Extents {
  std::int64_t outer, axis, inner;

  Shape whole() const { return {outer, axis, inner}; }
  Shape reduced() const { return {outer, inner}; }
  ReduceAttributes attributes(double scale = 1, bool of_squares = false) const {
    return {outer, axis, inner, scale, of_squares};
  }
  std::size_t at(std::int64_t line, std::int64_t i) const {
    return static_cast<std::size_t>((line / inner * axis + i) * inner + line % inner);
  }
  std::int64_t lines() const { return outer * inner; }
};

inline const std::vector<Extents> all_extents = {
    {1, 1, 1},      {1, 7, 1},    {5, 16, 1},    {5, 17, 1},     {3, 64, 1},    {3, 100, 1},  {2, 5000, 1},
    {700, 130, 1},  {9, 3, 1},    {9, 31, 1},    {9, 33, 1},     {9, 63, 1},    {9, 65, 1},   {7, 250, 1},
    {1, 200000, 1}, {1, 9, 3},    {1, 1000, 10}, {1, 1024, 600}, {4, 130, 5},   {3, 2, 1000}, {0, 3, 2},
    {2, 3, 0},      {1, 1, 700},  {700, 1, 1},   {7, 1, 3},      {11, 2, 1},    {6, 40, 1},   {3, 299, 1},
    {1, 5000, 33},  {3, 4100, 1}, {40, 17, 1},   {37, 33, 1},    {35, 64, 1},   {50, 8, 1},   {100, 3, 1},
    {1, 30, 217},   {1, 3001, 3}, {2, 1000, 7},  {1, 300, 15},   {1, 300, 259}, {37, 2, 1},   {45, 4, 1},
};

template <class T>
std::vector<T> reduce(Op op, const Extents& extents, const std::vector<T>& in, double scale = 1,
                      bool of_squares = false) {
  const Array out(extents.reduced(), dtype_of<T>), x(extents.whole(), in);
  run_kernel(op, {written(out), read(x)}, extents.attributes(scale, of_squares));
  return out.values<T>();
}

// The same in two operations, as few long lines are. There are elements.
template <class T>
std::vector<T> reduce_in_parts(Op of_blocks, Op of_parts, const Extents& extents, const std::vector<T>& in,
                               double scale = 1, bool of_squares = false) {
  ReduceAttributes attributes = extents.attributes(scale, of_squares);
  const std::int64_t blocks = divided_up(extents.axis, line_block(attributes));
  const Array x(extents.whole(), in), out(extents.reduced(), dtype_of<T>),
      parts({extents.outer, blocks, extents.inner}, std::is_integral_v<T> ? int64 : float64);
  run_kernel(of_blocks, {written(parts), read(x)}, attributes);
  attributes.axis = blocks;
  run_kernel(of_parts, {written(out), read(parts)}, attributes);
  return out.values<T>();
}

}  // namespace asyncgrad::detail
