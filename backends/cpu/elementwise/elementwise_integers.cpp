// The loops over int64 and bool, one element at a time; overflow of int64 wraps around.
#include <utility>

#include "asyncgrad/backends/cpu/elementwise/elementwise_loops.h"
#include "asyncgrad/backends/integer_math.h"

namespace asyncgrad::detail {

namespace {

template <class Formula, class Math, class Out, std::size_t... K>
void loop(Out* out, const LoopInput* inputs, std::int64_t n, std::index_sequence<K...>) {
  using T = typename Math::V;
  const T* const in[] = {static_cast<const T*>(inputs[K].data)...};
  const std::int64_t steps[] = {inputs[K].step...};
  if ((... && (steps[K] == 1))) {  // several at a time
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(Formula::apply(Math(), in[K][i]...));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(Formula::apply(Math(), in[K][i * steps[K]]...));
}

template <class Formula, class Math, class Out>
void run_loop(void* out, const LoopInput* inputs, std::int64_t n) {
  loop<Formula, Math>(static_cast<Out*>(out), inputs, n, std::make_index_sequence<Formula::inputs>());
}

template <class Formula, class Math, class Out>
constexpr Loop loop_of() {
  constexpr bool has_form = std::is_same_v<Math, IntegerMath> ? Formula::integers : Formula::booleans;
  if constexpr (has_form && (std::is_same_v<Out, typename Math::V> || Formula::is_predicate)) {
    return run_loop<Formula, Math, Out>;
  } else {
    return nullptr;
  }
}

template <class Math, class Out, std::size_t... I>
constexpr LoopTable table(std::index_sequence<I...>) {
  return {loop_of<std::tuple_element_t<I, formulas::Formulas>, Math, Out>()...};
}
constexpr auto all_formulas = std::make_index_sequence<formulas::count>();

}  // namespace

const ElementwiseLoops<std::int64_t>& int64_loops() {
  static constexpr ElementwiseLoops<std::int64_t> loops{table<IntegerMath, std::int64_t>(all_formulas),
                                                        table<IntegerMath, std::uint8_t>(all_formulas)};
  return loops;
}
const LoopTable& boolean_loops() {
  static constexpr LoopTable loops = table<BooleanMath, std::uint8_t>(all_formulas);
  return loops;
}

}  // namespace asyncgrad::detail
