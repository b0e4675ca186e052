// Elementwise operations: a tile is a range of the output's elements, and runs the formula's loop along its rows.
#include <cstring>
#include <utility>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cpu/elementwise/elementwise_loops.h"
#include "asyncgrad/backends/cpu/elementwise/input_blocks.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

static_assert(max_inputs == max_broadcast_inputs);

// Visits the `count` inputs of a call, which are operands or numbers; `numbers` gets the numbers in the type T. Calls
// visit(k, shape, data) for each, with a null shape for a number, and stops and returns false as soon as it does.
template <class T, std::size_t count, class Visit>
inline bool visit_inputs(const KernelCall& call, std::array<T, count>& numbers, Visit visit) {
  const auto& attributes = call.attributes<ElementwiseAttributes>();
  const View* view = call.views;
  for (std::size_t k = 0; k < count; ++k) {
    if ((attributes.scalar_mask >> k & 1) != 0) {
      numbers[k] = number_as<T>(attributes.scalars[k]);
      if (!visit(k, nullptr, &numbers[k])) return false;
    } else {
      ++view;
      if (!visit(k, &view->shape, reinterpret_cast<const T*>(view->data))) return false;
    }
  }
  return true;
}

// True if each input has the layout of the output or is a single element; then `in` is where a loop from `begin` on
// starts. It is enough to compare the numbers of elements: an input has as many as the output only if none is repeated.
template <class T, std::size_t count>
inline bool is_flat(const KernelCall& call, std::int64_t begin, std::array<T, count>& numbers,
                    std::array<LoopInput, count>& in) {
  return visit_inputs<T>(call, numbers,
                         [&in, begin, numel = call.numel(0)](std::size_t k, const Shape* shape, const T* data) {
                           const std::int64_t elements = shape == nullptr ? 1 : shape->numel();
                           in[k] = elements == numel ? LoopInput{data + begin, 1} : LoopInput{data, 0};
                           return elements == numel || elements == 1;
                         });
}

// Inputs that are repeated along some axes. Out is T, or a byte for bool.
template <class T, class Out, std::size_t count>
class Elementwise {
 public:
  Elementwise(const KernelCall& call, Loop loop)
      : loop_(loop), out_(call.data<Out>(0)), broadcast_(take_inputs(call)) {}
  Elementwise(const Elementwise&) = delete;
  Elementwise& operator=(const Elementwise&) = delete;

  void run(Range range) const {
    if (broadcast_.rank() > 1 && broadcast_.columns() < min_columns) {
      run_blocks(range);
    } else {
      run_rows(range);
    }
  }

 private:
  // For shorter rows a loop of their own costs more than it saves.
  static constexpr std::int64_t min_columns = 256;
  static_assert(min_columns <= InputBlocks<T, count>::capacity);

  Broadcast take_inputs(const KernelCall& call) {
    std::array<const Shape*, max_inputs> shapes{};
    visit_inputs<T>(call, numbers_, [this, &shapes, &call](std::size_t k, const Shape* shape, const T* data) {
      shapes[k] = shape;
      data_[k] = data;
      is_flat_[k] = shape != nullptr && shape->numel() == call.numel(0);
      return true;
    });
    return Broadcast(call.shape(0), shapes, static_cast<int>(count));
  }

  void run_rows(Range range) const {
    const std::int64_t columns = broadcast_.rank() > 1 ? broadcast_.columns() : range.end;
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t end = std::min(range.end, (begin / columns + 1) * columns);
      std::array<LoopInput, count> in;
      for (std::size_t k = 0; k < count; ++k) {
        const int input = static_cast<int>(k);
        in[k] = {data_[k] + broadcast_.offset(input, begin), broadcast_.column_step(input)};
      }
      loop_(out_ + begin, in.data(), end - begin);
      begin = end;
    }
  }

  void run_blocks(Range range) const {
    InputBlocks<T, count> blocks(broadcast_, data_, is_flat_, range);
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t end = std::min(range.end, blocks.end_from(begin));
      const std::array<LoopInput, count> in = blocks.inputs({begin, end});
      loop_(out_ + begin, in.data(), end - begin);
      begin = end;
    }
  }

  Loop loop_;
  Out* out_;
  std::array<const T*, count> data_{};
  std::array<T, count> numbers_{};
  std::array<bool, count> is_flat_{};
  Broadcast broadcast_;
};

// This is a function of its own, so that most calls need no stack for its buffers.
template <class T, class Out, std::size_t count>
[[gnu::noinline]] void run_repeated(const KernelCall& call, Range range, Loop loop) {
  Elementwise<T, Out, count>(call, loop).run(range);
}

template <class T, class Out, std::size_t count>
inline void run(const KernelCall& call, int tile, const LoopTable& loops) {
  const Range range = loop_tile_range(call.numel(0), tile);
  if (range.begin == range.end) return;
  const Loop loop = loops[call.attributes<ElementwiseAttributes>().formula];
  std::array<T, count> numbers;
  std::array<LoopInput, count> in;
  if (is_flat(call, range.begin, numbers, in)) {
    loop(call.data<Out>(0) + range.begin, in.data(), range.end - range.begin);
  } else {
    run_repeated<T, Out, count>(call, range, loop);
  }
}

int elementwise_tiles(const KernelCall& call) { return loop_tile_count(call.numel(0)); }

// elementwise_kernels() sets it, before any thread sees the table that it returns.
struct {
  const FloatingLoops<ElementwiseLoops>* floating;
  const ElementwiseLoops<std::int64_t>* int64;
  const LoopTable* boolean;
} constinit loops{};

// The type is that of the inputs, of which the first one that is no number is operand 1.
template <std::size_t inputs>
void run_elementwise(const KernelCall& call, int tile) {
  switch (call.dtype(1)) {
    case DType::float32:
      return run<float, float, inputs>(call, tile, loops.floating->of<float>().same_type);
    case DType::float64:
      return run<double, double, inputs>(call, tile, loops.floating->of<double>().same_type);
    case DType::boolean:
      return run<std::uint8_t, std::uint8_t, inputs>(call, tile, *loops.boolean);
    default:
      return run<std::int64_t, std::int64_t, inputs>(call, tile, loops.int64->same_type);
  }
}

template <std::size_t inputs>
void run_predicate(const KernelCall& call, int tile) {
  const DType dtype = call.dtype(1);
  if (call.dtype(0) == dtype) return run_elementwise<inputs>(call, tile);
  if (dtype == DType::float32)
    return run<float, std::uint8_t, inputs>(call, tile, loops.floating->of<float>().predicates);
  if (dtype == DType::float64)
    return run<double, std::uint8_t, inputs>(call, tile, loops.floating->of<double>().predicates);
  run<std::int64_t, std::uint8_t, inputs>(call, tile, loops.int64->predicates);
}

template <class Formula>
constexpr Kernel kernel{
    .run = Formula::is_predicate ? run_predicate<Formula::inputs> : run_elementwise<Formula::inputs>,
    .tiles = elementwise_tiles};

template <std::size_t... I>
constexpr std::array<Kernel, formulas::count> kernels_of(std::index_sequence<I...>) {
  return {kernel<std::tuple_element_t<I, formulas::Formulas>>...};
}

}  // namespace

std::array<Kernel, formulas::count> elementwise_kernels() {
  loops = {&elementwise_loops(), &int64_loops(), &boolean_loops()};
  return kernels_of(std::make_index_sequence<formulas::count>());
}

}  // namespace asyncgrad::detail
