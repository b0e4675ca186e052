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

// The inputs of a call: operands, and numbers in the type T.
template <class T>
struct Inputs {
  int count = 0;
  std::array<const Shape*, most_inputs> shapes;
  std::array<const T*, most_inputs> data;
  std::array<T, most_inputs> numbers;

  explicit Inputs(const KernelCall& call) {
    const auto& attributes = call.attributes<ElementwiseAttributes>();
    count = inputs_of(attributes);
    int operand = 1;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      if ((attributes.scalar_mask >> k & 1) != 0) {
        numbers[k] = number_as<T>(attributes.scalars[k]);
        data[k] = &numbers[k];
        shapes[k] = nullptr;
      } else {
        shapes[k] = &call.shape(operand);
        data[k] = call.data<T>(operand++);
      }
    }
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
};

// Inputs that are repeated along some axes.
template <class T>
class Elementwise {
 public:
  Elementwise(const KernelCall& call, const Inputs<T>& inputs, Loop loop)
      : loop_(loop), out_(call.data<T>(0)), inputs_(inputs), broadcast_(call.shape(0), inputs_.shapes, inputs_.count) {}

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

  void run_rows(Range range) const {
    const std::int64_t columns = broadcast_.rank() > 1 ? broadcast_.columns() : range.end;
    for (std::int64_t begin = range.begin; begin < range.end;) {
      const std::int64_t end = std::min(range.end, (begin / columns + 1) * columns);
      std::array<LoopInput, most_inputs> in{};
      for (int k = 0; k < inputs_.count; ++k) {
        in[index(k)] = {inputs_.data[index(k)] + broadcast_.offset(k, begin), broadcast_.column_step(k)};
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
      for (int k = 0; k < inputs_.count; ++k) {
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
      const T* const row = inputs_.data[index(input)] + broadcast_.offset(input, begin);
      for (std::int64_t j = 0; j < end - begin; ++j) *packed++ = row[j * step];
      begin = end;
    }
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  Loop loop_;
  T* out_;
  const Inputs<T>& inputs_;
  Broadcast broadcast_;
};

// Whether each input is laid out as the output is, or one element for all. Broadcasting never makes an input smaller,
// so the number of its elements tells. Then `in` is where a loop from `begin` on starts, with `numbers` as room.
template <class T>
inline bool is_flat(const KernelCall& call, std::int64_t begin, std::array<T, most_inputs>& numbers,
                    std::array<LoopInput, most_inputs>& in) {
  const auto& attributes = call.attributes<ElementwiseAttributes>();
  const auto count = static_cast<std::size_t>(inputs_of(attributes));
  const std::int64_t numel = call.numel(0);
  int operand = 1;
  for (std::size_t k = 0; k < count; ++k) {
    if ((attributes.scalar_mask >> k & 1) != 0) {
      numbers[k] = number_as<T>(attributes.scalars[k]);
      in[k] = {&numbers[k], 0};
      continue;
    }
    const std::int64_t elements = call.numel(operand);
    const T* const data = call.data<T>(operand++);
    if (elements == numel) {
      in[k] = {data + begin, 1};
    } else if (elements == 1) {
      in[k] = {data, 0};
    } else {
      return false;
    }
  }
  return true;
}

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
    Elementwise<T>(call, Inputs<T>(call), loop).run(range);
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
