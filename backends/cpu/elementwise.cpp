// Elementwise operations, by the table of formulas.
#include <cmath>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {
namespace {
template <class T>
struct Math {
  T set(double v) const { return static_cast<T>(v); }
  T add(T a, T b) const { return a + b; }
  T sub(T a, T b) const { return a - b; }
  T mul(T a, T b) const { return a * b; }
  T div(T a, T b) const { return a / b; }
  T neg(T a) const { return -a; }
  T abs(T a) const { return a < 0 ? -a : a == 0 ? T(0) : a; }
  T min(T a, T b) const { return a != a ? a : b != b ? b : a < b ? a : b; }
  T max(T a, T b) const { return a != a ? a : b != b ? b : a > b ? a : b; }
  T sqrt(T a) const { return std::sqrt(a); }
  T exp(T a) const { return std::exp(a); }
  T log(T a) const { return std::log(a); }
  T tanh(T a) const { return std::tanh(a); }
  T pow(T a, T b) const { return std::pow(a, b); }
  bool equal(T a, T b) const { return a == b; }
  bool less(T a, T b) const { return a < b; }
  T select(bool m, T a, T b) const { return m ? a : b; }
};
int output_tiles(const KernelCall& call) { return tile_count(call.numel(0), tile_elements); }

template <class F, class T>
void run_typed(const KernelCall& call, Range range) {
  const auto& a = call.attributes<ElementwiseAttributes>();
  T* out = call.data<T>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    T x[3];
    int operand = 1;
    for (int k = 0; k < F::inputs; ++k) {
      if (a.scalar_mask >> k & 1) {
        x[k] = number_as<T>(a.scalars[static_cast<std::size_t>(k)]);
        continue;
      }
      const Shape &o = call.shape(0), &s = call.shape(operand);
      std::int64_t rest = i, at = 0, stride = 1;
      for (int d = o.rank() - 1, e = s.rank() - 1; e >= 0; --d, --e) {
        if (s[e] != 1) at += rest % o[d] * stride;
        rest /= o[d];
        stride *= s[e];
      }
      x[k] = call.data<T>(operand++)[at];
    }
    const Math<T> m;
    if constexpr (F::inputs == 1) out[i] = F::apply(m, x[0]);
    if constexpr (F::inputs == 2) out[i] = F::apply(m, x[0], x[1]);
    if constexpr (F::inputs == 3) out[i] = F::apply(m, x[0], x[1], x[2]);
  }
}
template <class F>
void run(const KernelCall& call, int tile) {
  const Range range = tile_range(call.numel(0), tile_elements, tile);
  visit_dtype(call.dtype(0), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T> || F::integers) run_typed<F, T>(call, range);
  });
}
template <std::size_t... I>
void add(Backend& backend, std::index_sequence<I...>) {
  ((backend.elementwise[I] = {.run = run<std::tuple_element_t<I, formulas::Formulas>>, .tiles = output_tiles}), ...);
}
}  // namespace
void add_elementwise_kernels(Backend& backend) { add(backend, std::make_index_sequence<formulas::count>()); }
}  // namespace asyncgrad::detail
