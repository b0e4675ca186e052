// The loops of optimisers, compiled once for every instruction set.
#include "asyncgrad/backends/cpu/updates/update_loops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <hwy/cache_control.h>

#include "asyncgrad/backends/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "asyncgrad/backends/cpu/updates/update_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>
#include "asyncgrad/backends/cpu/vectors/partial_vectors-inl.h"
#include "asyncgrad/backends/cpu/vectors/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The distance by which every array is prefetched ahead of the loop. The processor's own prefetching left memory idle
// for 3 to 9 % of a step, mostly at the ends of pages (Sapphire Rapids, 10^7 parameters; 512 to 4096 bytes do equally
// well).
inline constexpr std::int64_t ahead_bytes = 1024;

// The tree of a rule, whose inputs are first the arrays that it updates, then the gradient, then its numbers.
template <class Rule, std::size_t... K, std::size_t... N>
auto rule_tree(std::index_sequence<K...>, std::index_sequence<N...>) {
  constexpr int arrays = sizeof...(K);
  return Rule::apply(Recorder(), std::tuple{Input<arrays + 1 + static_cast<int>(N)>()...}, Input<arrays>(),
                     Input<static_cast<int>(K)>()...);
}

template <class Rule, class T>
struct Update {
  using Math = VectorMath<T>;
  using V = typename Math::V;
  static constexpr std::size_t arrays = 1 + Rule::states.size();
  static constexpr std::size_t numbers = std::tuple_size_v<decltype(Rule::numbers(typename Rule::Options{}, 1))>;

  // Puts the new values in place of the old ones at the beginning of `inputs`.
  static HWY_INLINE void apply(V (&inputs)[arrays + 1 + numbers]) {
    const auto tree = rule_tree<Rule>(std::make_index_sequence<arrays>(), std::make_index_sequence<numbers>());
    evaluate_all(tree, inputs, std::make_index_sequence<arrays>());
  }

 private:
  template <class Tree, std::size_t... K>
  static HWY_INLINE void evaluate_all(const Tree& tree, V* inputs, std::index_sequence<K...>) {
    const V results[] = {evaluate(Math(), std::get<K>(tree), inputs)...};
    for (std::size_t k = 0; k < arrays; ++k) inputs[k] = results[k];
  }
};

// A rest that does not fill a vector is computed as a whole vector.
template <class Rule, class T>
void loop(const std::array<double, max_update_numbers>& numbers, const UpdateArrays<T>& arrays) {
  using U = Update<Rule, T>;
  const hn::ScalableTag<T> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  constexpr std::int64_t line = 64 / sizeof(T), ahead = ahead_bytes / sizeof(T);
  const auto& x = arrays.updated;
  const T* const g = arrays.gradient;
  const std::int64_t n = arrays.n;
  typename U::V inputs[U::arrays + 1 + U::numbers];
  for (std::size_t k = 0; k < U::numbers; ++k) inputs[U::arrays + 1 + k] = U::Math::set(numbers[k]);
  std::int64_t i = 0;
  for (; i + line <= n; i += line) {
    const std::int64_t asked_for = std::min(i + ahead, n - 1);
    for (std::size_t k = 0; k < U::arrays; ++k) hwy::Prefetch(x[k] + asked_for);
    hwy::Prefetch(g + asked_for);
    for (std::int64_t j = i; j < i + line; j += lanes) {
      for (std::size_t k = 0; k < U::arrays; ++k) inputs[k] = hn::LoadU(d, x[k] + j);
      inputs[U::arrays] = hn::LoadU(d, g + j);
      U::apply(inputs);
      for (std::size_t k = 0; k < U::arrays; ++k) hn::StoreU(inputs[k], d, x[k] + j);
    }
  }
  HWY_ALIGN T room[lanes];
  while (i < n) {
    const std::int64_t count = std::min(n - i, lanes);
    for (std::size_t k = 0; k < U::arrays; ++k) inputs[k] = load_part(x[k] + i, count, room);
    inputs[U::arrays] = load_part(g + i, count, room);
    U::apply(inputs);
    for (std::size_t k = 0; k < U::arrays; ++k) store_part(inputs[k], x[k] + i, count, room);
    i += count;
  }
}

template <class T, std::size_t... I>
constexpr UpdateLoops<T> loops_of(std::index_sequence<I...>) {
  return {{loop<std::tuple_element_t<I, rules::Rules>, T>...}};
}
template <class T>
static constexpr UpdateLoops<T> functions = loops_of<T>(std::make_index_sequence<rules::count>());
FloatingLoops<UpdateLoops> update_loops() { return {functions<float>, functions<double>}; }

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace asyncgrad::detail {

HWY_EXPORT(update_loops);

const FloatingLoops<UpdateLoops>& update_loops() {
  static const auto loops = HWY_DYNAMIC_DISPATCH(update_loops)();
  return loops;
}

}  // namespace asyncgrad::detail
#endif  // HWY_ONCE
