// The gradient of a product along an axis: of an element the product of all others, exact where some of them are 0.
#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

// A tile is a range of lines along the axis, and computes this many neighbouring ones at once.
constexpr std::int64_t max_columns = 256;

std::int64_t strips(const ReduceAttributes& a) { return (a.inner + max_columns - 1) / max_columns; }
std::int64_t strips_per_tile(const ReduceAttributes& a) {
  return items_per_tile(a.axis * std::min(a.inner, max_columns));
}

int prod_grad_tiles(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return tile_count(a.outer * strips(a), strips_per_tile(a));
}

// One line whose elements lie one behind the other: the products of what is before each, then those times the products
// of what is behind it.
template <class T>
void grad_line(const T* x, T dy, T* dx, std::int64_t axis) {
  double product = 1;
  for (std::int64_t i = 0; i < axis; ++i) {
    dx[i] = static_cast<T>(product);
    product *= x[i];
  }
  product = dy;
  for (std::int64_t i = axis - 1; i >= 0; --i) {
    dx[i] = static_cast<T>(dx[i] * product);
    product *= x[i];
  }
}

// The same for `columns` neighbouring lines.
template <class T>
void grad_lines(const T* x, const T* dy, T* dx, const ReduceAttributes& a, std::int64_t columns) {
  double products[max_columns];
  std::fill_n(products, columns, 1.0);
  for (std::int64_t i = 0; i < a.axis; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      dx[i * a.inner + j] = static_cast<T>(products[j]);
      products[j] *= x[i * a.inner + j];
    }
  }
  std::copy_n(dy, columns, products);
  for (std::int64_t i = a.axis - 1; i >= 0; --i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      T& out = dx[i * a.inner + j];
      out = static_cast<T>(out * products[j]);
      products[j] *= x[i * a.inner + j];
    }
  }
}

void run_prod_grad(const KernelCall& call, int tile) {
  const auto& a = call.attributes<ReduceAttributes>();
  const Range range = tile_range(a.outer * strips(a), strips_per_tile(a), tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t strip = range.begin; strip < range.end; ++strip) {
      const std::int64_t outer = strip / strips(a), first = strip % strips(a) * max_columns;
      const std::int64_t at = outer * a.axis * a.inner + first, line = outer * a.inner + first;
      T* const dx = call.data<T>(0) + at;
      const T *const x = call.data<T>(1) + at, *const dy = call.data<T>(2) + line;
      if (a.inner == 1) {
        grad_line(x, *dy, dx, a.axis);
      } else {
        grad_lines(x, dy, dx, a, std::min(max_columns, a.inner - first));
      }
    }
  });
}

}  // namespace

constinit const Kernel cpu_kernels::prod_grad{.run = run_prod_grad, .tiles = prod_grad_tiles};

}  // namespace asyncgrad::detail
