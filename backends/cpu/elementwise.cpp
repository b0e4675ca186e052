// Elementwise operations: a tile is a range of the output's elements, and runs the formula's loop along its rows.
#include <cstring>
#include <utility>

#include "asyncgrad/backends/broadcast.h"
#include "asyncgrad/backends/cpu/elementwise_loops.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

static_assert(most_inputs == most_broadcast_inputs);

template <std::size_t... I>
constexpr std::array<int, formulas::count> input_counts(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::inputs...};
}

int inputs_of(const ElementwiseAttributes& attributes) {
  static constexpr auto counts = input_counts(std::make_index_sequence<formulas::count>());
  return counts[attributes.formula];
}

// The inputs of a call: operands, and numbers, of which `numbers` holds the values in the type T. Calls
// visit(k, shape, data) for each; a number has no shape. False as soon as it says so.
template <class T, class Visit>
inline bool visit_inputs(const KernelCall& call, std::array<T, most_inputs>& numbers, Visit visit) {
  const auto& attributes = call.attributes<ElementwiseAttributes>();
  const auto count = static_cast<std::size_t>(inputs_of(attributes));
  int operand = 1;
  for (std::size_t k = 0; k < count; ++k) {
    const Shape* shape = nullptr;
    const T* data = &numbers[k];
    if ((attributes.scalar_mask >> k & 1) != 0) {
      numbers[k] = number_as<T>(attributes.scalars[k]);
    } else {
      shape = &call.shape(operand);
      data = call.data<T>(operand++);
    }
    if (!visit(k, shape, data)) return false;
  }
  return true;
}

// Whether each is laid out as the output is, or one element for all. Broadcasting never makes an input smaller but to
// nothing, and there is something to compute: so the number of its elements tells. Then `in` is where a loop from
// `begin` on starts.
template <class T>
inline bool is_flat(const KernelCall& call, std::int64_t begin, std::array<T, most_inputs>& numbers,
                    std::array<LoopInput, most_inputs>& in) {
  return visit_inputs<T>(call, numbers,
                         [&in, begin, numel = call.numel(0)](std::size_t k, const Shape* shape, const T* data) {
                           const std::int64_t elements = shape == nullptr ? 1 : shape->numel();
                           in[k] = elements == numel ? LoopInput{data + begin, 1} : LoopInput{data, 0};
                           return elements == numel || elements == 1;
                         });
}

// Inputs that are repeated along some axes.
template <class T>
class Elementwise {
 public:
  Elementwise(const KernelCall& call, Loop loop) : loop_(loop), out_(call.data<T>(0)), broadcast_(take_inputs(call)) {}
  Elementwise(const Elementwise&) = delete;
  Elementwise& operator=(const Elementwise&) = delete;

  void run(Range range) const {
    if (broadcast_.rank() > 1 && broadcast_.columns() < fewest_columns) {
      run_packed(range);
    } else {
      run_rows(range);
    }
  }

 private:
  // Shorter rows are not worth a loop of their own.
  static constexpr std::int64_t fewest_columns = 64;
  static constexpr std::int64_t packed_elements = 512;

  Broadcast take_inputs(const KernelCall& call) {
    std::array<const Shape*, most_inputs> shapes{};
    visit_inputs<T>(call, numbers_, [this, &shapes](std::size_t k, const Shape* shape, const T* data) {
      shapes[k] = shape;
      data_[k] = data;
      ++count_;
      return true;
    });
    return Broadcast(call.shape(0), shapes, count_);
  }

  void run_rows(Range range) const {
    const std::int64_t columns = broadcast_.rank() > 1 ? broadcast_.columns() : range.end;
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t end = std::min(range.end, (begin / columns + 1) * columns);
      std::array<LoopInput, most_inputs> in{};
      for (int k = 0; k < count_; ++k) {
        in[index(k)] = {data_[index(k)] + broadcast_.offset(k, begin), broadcast_.column_step(k)};
      }
      loop_(out_ + begin, in.data(), end - begin);
      begin = end;
    }
  }

  // Lays the inputs out as the output is, some elements at a time.
  void run_packed(Range range) const {
    std::array<std::array<T, packed_elements>, most_inputs> packed;
    std::array<LoopInput, most_inputs> in{};
    for (std::int64_t begin = range.begin; begin < range.end; begin += packed_elements) {
      const std::int64_t end = std::min(range.end, begin + packed_elements);
      for (int k = 0; k < count_; ++k) {
        pack(k, {begin, end}, packed[index(k)].data());
        in[index(k)] = {packed[index(k)].data(), 1};
      }
      loop_(out_ + begin, in.data(), end - begin);
    }
  }

  void pack(int input, Range range, T* packed) const {
    const std::int64_t columns = broadcast_.columns(), step = broadcast_.column_step(input);
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t end = std::min(range.end, (begin / columns + 1) * columns);
      const T* const row = data_[index(input)] + broadcast_.offset(input, begin);
      for (std::int64_t j = 0; j < end - begin; ++j) *packed++ = row[j * step];
      begin = end;
    }
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  Loop loop_;
  T* out_;
  int count_ = 0;
  std::array<const T*, most_inputs> data_{};
  std::array<T, most_inputs> numbers_{};
  Broadcast broadcast_;
};

template <class T>
void run(const KernelCall& call, int tile, const LoopTable& loops) {
  const Range range = tile_range(call.numel(0), tile_elements, tile);
  if (range.begin == range.end) return;
  const Loop loop = loops[call.attributes<ElementwiseAttributes>().formula];
  std::array<T, most_inputs> numbers;
  std::array<LoopInput, most_inputs> in;
  if (is_flat(call, range.begin, numbers, in)) {
    loop(call.data<T>(0) + range.begin, in.data(), range.end - range.begin);
  } else {
    Elementwise<T>(call, loop).run(range);
  }
}

int elementwise_tiles(const KernelCall& call) { return tile_count(call.numel(0), tile_elements); }

void run_elementwise(const KernelCall& call, int tile) {
  switch (call.dtype(0)) {
    case DType::float32:
      return run<float>(call, tile, float32_loops());
    case DType::float64:
      return run<double>(call, tile, float64_loops());
    case DType::int64:
      return run<std::int64_t>(call, tile, int64_loops());
  }
}

}  // namespace

void add_elementwise_kernels(Backend& backend) {
  backend.elementwise.fill({.run = run_elementwise, .tiles = elementwise_tiles});
}

}  // namespace asyncgrad::detail
