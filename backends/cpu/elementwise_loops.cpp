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

// One element for all, as many times as a vector has lanes.
template <class T>
HWY_INLINE const T* repeated(const T* element, T* lanes) {
  const hn::ScalableTag<T> d;
  hn::StoreU(hn::Set(d, *element), d, lanes);
  return lanes;
}

// Elements [0, n); what does not fill a vector is computed as a whole one.
template <class Formula, class T>
void loop(void* out_data, const LoopInput* inputs, std::int64_t n) {
  using Math = VectorMath<T>;
  constexpr auto count = static_cast<std::size_t>(Formula::inputs);
  constexpr auto lanes = static_cast<std::int64_t>(Math::lanes);
  const typename Math::D d;
  const auto tree = formula_tree<Formula>();
  HWY_ALIGN T beside[count + 1][Math::lanes];
  const T* in[count];
  std::int64_t steps[count];
  for (std::size_t k = 0; k < count; ++k) {
    const auto* const data = static_cast<const T*>(inputs[k].data);
    in[k] = inputs[k].step == 0 ? repeated(data, beside[k]) : data;
    steps[k] = inputs[k].step == 0 ? 0 : lanes;
  }
  T* const out = static_cast<T*>(out_data);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    typename Math::V x[count];
    for (std::size_t k = 0; k < count; ++k) {
      x[k] = hn::LoadU(d, in[k]);
      in[k] += steps[k];
    }
    hn::StoreU(evaluate(Math(), tree, x), d, out + i);
  }
  if (i == n) return;
  typename Math::V x[count];
  for (std::size_t k = 0; k < count; ++k) {
    x[k] = steps[k] == 0 ? hn::Load(d, in[k]) : load_part(in[k], n - i, beside[k]);
  }
  store_part(evaluate(Math(), tree, x), out + i, n - i, beside[count]);
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
