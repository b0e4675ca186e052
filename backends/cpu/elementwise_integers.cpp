// The loops over int64: one element at a time, wrapping around as the processor does.
#include <utility>

#include "asyncgrad/backends/cpu/elementwise_loops.h"

namespace asyncgrad::detail {

namespace {

// The Math of formulas.h that rows with an integer form need.
struct IntegerMath {
  using V = std::int64_t;

  static V wrapped(std::uint64_t bits) { return static_cast<V>(bits); }
  static std::uint64_t bits(V x) { return static_cast<std::uint64_t>(x); }

  V set(double value) const { return static_cast<V>(value); }
  V add(V x, V y) const { return wrapped(bits(x) + bits(y)); }
  V sub(V x, V y) const { return wrapped(bits(x) - bits(y)); }
  V mul(V x, V y) const { return wrapped(bits(x) * bits(y)); }
  V neg(V x) const { return wrapped(0 - bits(x)); }
  V abs(V x) const { return x < 0 ? neg(x) : x; }
  V min(V x, V y) const { return x < y ? x : y; }
  V max(V x, V y) const { return x < y ? y : x; }
  bool equal(V x, V y) const { return x == y; }
  bool less(V x, V y) const { return x < y; }
  V select(bool mask, V x, V y) const { return mask ? x : y; }
};

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
