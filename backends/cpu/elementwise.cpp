// Elementwise operations: a tile is a range of the output's elements, and runs the formula's loop along its rows.
#include <cstring>
#include <utility>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cpu/elementwise_loops.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/pack_rows.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

static_assert(most_inputs == most_broadcast_inputs);

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
// starts. The number of elements is enough to tell: an input has as many as the output only if none is repeated.
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

// The elements of the output that a block of packed inputs has room for.
constexpr std::int64_t block_capacity = 1024;

// How an input gets into the layout of the output where rows are short.
enum class Packing {
  none,  // it has that layout already, or is a single element
  once,  // it is repeated so often that every block is the same
  each_block,
};

// Inputs that are repeated along some axes.
template <class T, std::size_t count>
class Elementwise {
 public:
  Elementwise(const KernelCall& call, Loop loop) : loop_(loop), out_(call.data<T>(0)), broadcast_(take_inputs(call)) {}
  Elementwise(const Elementwise&) = delete;
  Elementwise& operator=(const Elementwise&) = delete;

  void run(Range range) {
    if (broadcast_.rank() > 1 && broadcast_.columns() < fewest_columns) {
      run_packed(range);
    } else {
      run_rows(range);
    }
  }

 private:
  // Shorter rows do not pay for a loop of their own.
  static constexpr std::int64_t fewest_columns = 256;
  static_assert(fewest_columns <= block_capacity);

  Broadcast take_inputs(const KernelCall& call) {
    std::array<const Shape*, most_inputs> shapes{};
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

  // Copies inputs into the layout of the output, a block of whole rows at a time. All blocks begin at a multiple of
  // their size, so that an input that is repeated every so many elements is the same in all of them.
  void run_packed(Range range) {
    alignas(64) T packed[count][block_capacity + overhang_bytes / sizeof(T)];
    const std::int64_t block = choose_packing(range);
    const std::int64_t columns = broadcast_.columns();
    RepeatOrder order;
    const RowPacking& packing = row_packing(sizeof(T));
    const bool has_order =
        std::min(block, range.end - range.begin) >= fewest_for_order && packing.find_order(columns, order);
    const auto pack = [&](std::size_t k, Range rows) {
      pack_rows(packing, has_order ? &order : nullptr, k, rows, packed[k]);
    };
    for (std::size_t k = 0; k < count; ++k) {
      if (packing_[k] == Packing::once) pack(k, {0, block / columns});
    }
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t block_begin = begin / block * block, end = std::min(range.end, block_begin + block);
      const Range rows{begin / columns, (end - 1) / columns + 1};
      std::array<LoopInput, count> in;
      for (std::size_t k = 0; k < count; ++k) {
        if (packing_[k] == Packing::none) {
          in[k] = is_flat_[k] ? LoopInput{data_[k] + begin, 1} : LoopInput{data_[k], 0};
        } else if (packing_[k] == Packing::once) {
          in[k] = {packed[k] + (begin - block_begin), 1};
        } else {
          pack(k, rows);
          in[k] = {packed[k] + (begin - rows.begin * columns), 1};
        }
      }
      loop_(out_ + begin, in.data(), end - begin);
      begin = end;
    }
  }

  // Sets packing_ and returns the elements of a block.
  std::int64_t choose_packing(Range range) {
    std::int64_t unit = broadcast_.columns();
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t period = period_of(static_cast<int>(k));
      packing_[k] = is_flat_[k] || period == 1 ? Packing::none
                    : period <= block_capacity ? Packing::once
                                               : Packing::each_block;
      // Every period is a multiple of all shorter ones.
      if (packing_[k] == Packing::once) unit = std::max(unit, period);
    }
    const std::int64_t needed = (range.end + unit - 1) / unit * unit;
    return std::min(block_capacity / unit * unit, needed);
  }

  // After how many elements the input repeats itself: 1 for a single element.
  std::int64_t period_of(int input) const {
    std::int64_t period = 1;
    int axis = broadcast_.rank();
    for (int a = 0; a < broadcast_.rank() && axis == broadcast_.rank(); ++a) {
      if (broadcast_.stride(input, a) != 0) axis = a;
    }
    for (; axis < broadcast_.rank(); ++axis) period *= broadcast_.extent(axis);
    return period;
  }

  void pack_rows(const RowPacking& packing, const RepeatOrder* order, std::size_t k, Range rows, T* packed) const {
    const int input = static_cast<int>(k), axis = broadcast_.rank() - 2;
    const std::int64_t columns = broadcast_.columns(), extent = broadcast_.extent(axis);
    for (std::int64_t row = rows.begin; row < rows.end;) {
      const std::int64_t end = std::min(rows.end, (row / extent + 1) * extent);
      packing.pack({data_[k] + broadcast_.offset(input, row * columns), broadcast_.stride(input, axis), end - row,
                    columns, broadcast_.column_step(input)},
                   order, packed + (row - rows.begin) * columns);
      row = end;
    }
  }

  // Fewer elements do not pay for finding the order.
  static constexpr std::int64_t fewest_for_order = 256;

  Loop loop_;
  T* out_;
  std::array<const T*, count> data_{};
  std::array<T, count> numbers_{};
  std::array<bool, count> is_flat_{};
  std::array<Packing, count> packing_{};
  Broadcast broadcast_;
};

// A function of its own, so that most calls need no stack for its buffers.
template <class T, std::size_t count>
[[gnu::noinline]] void run_repeated(const KernelCall& call, Range range, Loop loop) {
  Elementwise<T, count>(call, loop).run(range);
}

template <class T, std::size_t count>
inline void run(const KernelCall& call, int tile, const LoopTable& loops) {
  const Range range = tile_range(call.numel(0), tile_elements, tile);
  if (range.begin == range.end) return;
  const Loop loop = loops[call.attributes<ElementwiseAttributes>().formula];
  std::array<T, count> numbers;
  std::array<LoopInput, count> in;
  if (is_flat(call, range.begin, numbers, in)) {
    loop(call.data<T>(0) + range.begin, in.data(), range.end - range.begin);
  } else {
    run_repeated<T, count>(call, range, loop);
  }
}

int elementwise_tiles(const KernelCall& call) { return tile_count(call.numel(0), tile_elements); }

// add_elementwise_kernels sets it, before any thread sees the table that it fills.
struct {
  const LoopTable *float32, *float64, *int64;
} constinit loops{};

template <std::size_t inputs>
void run_elementwise(const KernelCall& call, int tile) {
  switch (call.dtype(0)) {
    case DType::float32:
      return run<float, inputs>(call, tile, *loops.float32);
    case DType::float64:
      return run<double, inputs>(call, tile, *loops.float64);
    case DType::int64:
      return run<std::int64_t, inputs>(call, tile, *loops.int64);
  }
}

template <class Formula>
constexpr Kernel kernel{.run = run_elementwise<Formula::inputs>, .tiles = elementwise_tiles};

template <std::size_t... I>
constexpr std::array<Kernel, formulas::count> kernels_of(std::index_sequence<I...>) {
  return {kernel<std::tuple_element_t<I, formulas::Formulas>>...};
}

}  // namespace

void add_elementwise_kernels(Backend& backend) {
  loops = {&float32_loops(), &float64_loops(), &int64_loops()};
  backend.elementwise = kernels_of(std::make_index_sequence<formulas::count>());
}

}  // namespace asyncgrad::detail
