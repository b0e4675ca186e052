// The loops over float32 and float64, compiled once for every instruction set.
#include "asyncgrad/backends/cpu/elementwise_loops.h"

#include <utility>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/elementwise_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// Computes as many elements as fill whole vectors; returns their number.
template <class Formula, class T>
HWY_NOINLINE std::int64_t whole_vectors(T* out, const LoopInput* inputs, std::int64_t n) {
  using Math = VectorMath<T>;
  constexpr auto count = static_cast<std::size_t>(Formula::inputs);
  constexpr auto lanes = static_cast<std::int64_t>(Math::lanes);
  const typename Math::D d;
  const auto tree = formula_tree<Formula>();
  HWY_ALIGN T repeated[count][Math::lanes];
  const T* in[count];
  std::int64_t steps[count];
  for (std::size_t k = 0; k < count; ++k) {
    in[k] = static_cast<const T*>(inputs[k].data);
    steps[k] = inputs[k].step * lanes;
    if (inputs[k].step != 0) continue;
    hn::Store(hn::Set(d, *in[k]), d, repeated[k]);
    in[k] = repeated[k];
  }
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    typename Math::V x[count];
    for (std::size_t k = 0; k < count; ++k) {
      x[k] = hn::LoadU(d, in[k]);
      in[k] += steps[k];
    }
    hn::StoreU(evaluate(Math(), tree, x), d, out + i);
  }
  return i;
}

// Computes elements [0, n). The rest that does not fill a vector is computed as a whole vector. Often n is that small,
// and then whole_vectors is not called.
template <class Formula, class T>
void loop(void* out_data, const LoopInput* inputs, std::int64_t n) {
  using Math = VectorMath<T>;
  constexpr auto count = static_cast<std::size_t>(Formula::inputs);
  T* const out = static_cast<T*>(out_data);
  const std::int64_t i = n < static_cast<std::int64_t>(Math::lanes) ? 0 : whole_vectors<Formula>(out, inputs, n);
  if (i == n) return;
  const typename Math::D d;
  HWY_ALIGN T beside[Math::lanes];
  typename Math::V x[count];
  for (std::size_t k = 0; k < count; ++k) {
    const auto* const data = static_cast<const T*>(inputs[k].data);
    x[k] = inputs[k].step == 0 ? hn::Set(d, *data) : load_part(data + i, n - i, beside);
  }
  store_part(evaluate(Math(), formula_tree<Formula>(), x), out + i, n - i, beside);
}

template <class T, std::size_t... I>
constexpr LoopTable table(std::index_sequence<I...>) {
  return {loop<std::tuple_element_t<I, formulas::Formulas>, T>...};
}

const LoopTable& float32_table() {
  static constexpr LoopTable loops = table<float>(std::make_index_sequence<formulas::count>());
  return loops;
}
const LoopTable& float64_table() {
  static constexpr LoopTable loops = table<double>(std::make_index_sequence<formulas::count>());
  return loops;
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(float32_table);
HWY_EXPORT(float64_table);

const LoopTable& float32_loops() {
  static const LoopTable& loops = HWY_DYNAMIC_DISPATCH(float32_table)();
  return loops;
}
const LoopTable& float64_loops() {
  static const LoopTable& loops = HWY_DYNAMIC_DISPATCH(float64_table)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
