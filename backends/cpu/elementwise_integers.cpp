// The loops over int64, one element at a time; overflow wraps around.
#include <utility>

#include "asyncgrad/backends/cpu/elementwise_loops.h"
#include "asyncgrad/backends/integer_math.h"

namespace asyncgrad::detail {

namespace {

template <class Formula, std::size_t... K>
void loop(std::int64_t* out, const LoopInput* inputs, std::int64_t n, std::index_sequence<K...>) {
  const std::int64_t* const in[] = {static_cast<const std::int64_t*>(inputs[K].data)...};
  const std::int64_t steps[] = {inputs[K].step...};
  for (std::int64_t i = 0; i < n; ++i) out[i] = Formula::apply(IntegerMath(), in[K][i * steps[K]]...);
}

template <class Formula>
void run_loop(void* out, const LoopInput* inputs, std::int64_t n) {
  loop<Formula>(static_cast<std::int64_t*>(out), inputs, n, std::make_index_sequence<Formula::inputs>());
}

template <class Formula>
constexpr Loop loop_of() {
  if constexpr (Formula::integers) {
    return run_loop<Formula>;
  } else {
    return nullptr;
  }
}

template <std::size_t... I>
constexpr LoopTable table(std::index_sequence<I...>) {
  return {loop_of<std::tuple_element_t<I, formulas::Formulas>>()...};
}

}  // namespace

const LoopTable& int64_loops() {
  static constexpr LoopTable loops = table(std::make_index_sequence<formulas::count>());
  return loops;
}

}  // namespace asyncgrad::detail
