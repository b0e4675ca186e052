// The loops over float32 and float64, compiled once for every instruction set.
#include "asyncgrad/backends/cpu/elementwise/elementwise_loops.h"

#include <utility>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/elementwise/elementwise_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vectors/prefetch.h"
#include "asyncgrad/backends/cpu/vectors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// A vector of 1 and 0 as bytes.
template <class T, class V>
HWY_INLINE auto bytes_of(V vector) {
  const hn::Rebind<std::int32_t, hn::ScalableTag<T>> words;
  const hn::Rebind<std::uint8_t, decltype(words)> bytes;
  if constexpr (sizeof(T) == 4) {
    return hn::DemoteTo(bytes, hn::ConvertTo(words, vector));
  } else {
    return hn::DemoteTo(bytes, hn::DemoteTo(words, vector));
  }
}

// Stores a vector of T, as it is or as bytes.
template <class T, class V>
HWY_INLINE void store(V vector, T* out) {
  hn::StoreU(vector, hn::ScalableTag<T>(), out);
}
template <class T, class V>
HWY_INLINE void store(V vector, std::uint8_t* out) {
  hn::StoreU(bytes_of<T>(vector), hn::Rebind<std::uint8_t, hn::ScalableTag<T>>(), out);
}
template <class T, class V>
HWY_INLINE void store_few(V vector, T* out, std::int64_t count, T* beside) {
  store_part(vector, out, count, beside);
}
template <class T, class V>
HWY_INLINE void store_few(V vector, std::uint8_t* out, std::int64_t count, T*) {
  HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(hn::ScalableTag<T>())];
  store<T>(vector, bytes);
  for (std::int64_t j = 0; j < count; ++j) out[j] = bytes[j];
}

// How many elements ahead a loop asks for its inputs: about a page, at the end of which the processor's own prefetching
// stops. It asks for nothing behind its own elements, because another thread may be writing there.
constexpr std::int64_t asked_ahead = 1024;

// Computes as many elements as fill whole vectors; returns their number.
template <class Formula, class T, class Out>
HWY_NOINLINE std::int64_t whole_vectors(Out* out, const LoopInput* inputs, std::int64_t n) {
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
    const std::int64_t ahead = std::min(asked_ahead, n - lanes - i);
    for (std::size_t k = 0; k < count; ++k) {
      prefetch(in[k] + (inputs[k].step * ahead), lanes);
      x[k] = hn::LoadU(d, in[k]);
      in[k] += steps[k];
    }
    store<T>(evaluate(Math(), tree, x), out + i);
  }
  return i;
}

// Computes elements [0, n). The rest that does not fill a vector is computed as a whole vector. Often n is that small,
// and then whole_vectors is not called.
template <class Formula, class T, class Out>
void loop(void* out_data, const LoopInput* inputs, std::int64_t n) {
  using Math = VectorMath<T>;
  constexpr auto count = static_cast<std::size_t>(Formula::inputs);
  Out* const out = static_cast<Out*>(out_data);
  const std::int64_t i = n < static_cast<std::int64_t>(Math::lanes) ? 0 : whole_vectors<Formula, T>(out, inputs, n);
  if (i == n) return;
  const typename Math::D d;
  HWY_ALIGN T beside[Math::lanes];
  typename Math::V x[count];
  for (std::size_t k = 0; k < count; ++k) {
    const auto* const data = static_cast<const T*>(inputs[k].data);
    x[k] = inputs[k].step == 0 ? hn::Set(d, *data) : load_part(data + i, n - i, beside);
  }
  store_few<T>(evaluate(Math(), formula_tree<Formula>(), x), out + i, n - i, beside);
}

template <class Formula, class T, class Out>
constexpr Loop loop_of() {
  if constexpr (std::is_same_v<T, Out> || Formula::is_predicate) {
    return loop<Formula, T, Out>;
  } else {
    return nullptr;
  }
}

template <class T, class Out, std::size_t... I>
constexpr LoopTable table(std::index_sequence<I...>) {
  return {loop_of<std::tuple_element_t<I, formulas::Formulas>, T, Out>()...};
}
template <class T>
static constexpr ElementwiseLoops<T> functions{table<T, T>(std::make_index_sequence<formulas::count>()),
                                               table<T, std::uint8_t>(std::make_index_sequence<formulas::count>())};
FloatingLoops<ElementwiseLoops> elementwise_loops() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(elementwise_loops);

const FloatingLoops<ElementwiseLoops>& elementwise_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(elementwise_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
