// One step of an optimiser for a whole group of parameters, cut into tiles.
#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/backends/cpu/updates/update_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

static_assert(elements_per_count == tile_elements, "a part has one count");

// Some elements of one parameter.
struct ParameterPart {
  int parameter;
  std::int64_t index;  // among the parts of the parameter
  Range range;
};

// The tiles of the operation's first `count` operands, seen as one sequence: many small operands make one tile.
int parameter_tiles(const KernelCall& call, int count) {
  std::int64_t elements = 0;
  for (int i = 0; i < count; ++i) elements += call.numel(i);
  return tile_count(elements, tile_elements);
}

// Calls visit(part) for every part that begins in the tile's range of elements. Parts are counted from the beginning of
// each parameter, so that they are the same in every group.
template <class Visit>
void visit_parts(const KernelCall& call, int count, int tile, Visit visit) {
  const std::int64_t begin = tile * tile_elements, end = begin + tile_elements;
  std::int64_t first = 0;  // of the parameter, among all elements
  for (int i = 0; i < count && first < end; ++i) {
    const std::int64_t size = call.numel(i);
    std::int64_t index = (std::max<std::int64_t>(0, begin - first) + tile_elements - 1) / tile_elements;
    for (; index * tile_elements < size && first + index * tile_elements < end; ++index) {
      visit(ParameterPart{i, index, {index * tile_elements, std::min(size, (index + 1) * tile_elements)}});
    }
    first += size;
  }
}

int update_tiles(const KernelCall& call) { return parameter_tiles(call, call.attributes<UpdateAttributes>().count); }

// The numbers of the formula. Powers cost more than a small part, and most parameters are at the same step.
class Numbers {
 public:
  explicit Numbers(const UpdateAttributes& attributes) : attributes_(attributes) {}

  const std::array<double, max_update_numbers>& at(std::int64_t step) {
    if (step != step_) numbers_ = rule_of(attributes_).numbers(attributes_, step);
    step_ = step;
    return numbers_;
  }

 private:
  const UpdateAttributes& attributes_;
  std::int64_t step_ = 0;
  std::array<double, max_update_numbers> numbers_{};
};

template <class T>
void run_tile(const KernelCall& call, int tile) {
  const auto& a = call.attributes<UpdateAttributes>();
  const UpdateRule& rule = rule_of(a);
  const int arrays = static_cast<int>(rule.arrays()), gradients = arrays + (rule.counts_steps ? 1 : 0);
  Numbers numbers(a);
  visit_parts(call, a.count, tile, [&](const ParameterPart& part) {
    const auto array = [&](int list) { return call.data<T>(list * a.count + part.parameter) + part.range.begin; };
    UpdateArrays<T> parts{.updated = {}, .gradient = array(gradients), .n = part.range.end - part.range.begin};
    for (int k = 0; k < arrays; ++k) parts.updated[static_cast<std::size_t>(k)] = array(k);
    std::int64_t step = 1;
    if (rule.counts_steps) step = ++call.data<std::int64_t>(arrays * a.count + part.parameter)[part.index];
    update_loops().of<T>().of_rule[a.rule](numbers.at(step), parts);
  });
}

void run_update(const KernelCall& call, int tile) {
  if (call.attributes<UpdateAttributes>().count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) { run_tile<T>(call, tile); });
}

// --- Some rows of one parameter. The gradient is the last operand; before it are the places and the indices.

const Shape& row_shape(const KernelCall& call) { return call.shape(call.view_count - 1); }

// A tile takes a part of the rows, and a part of the counts of steps, of which at least one tells it the step.
int row_tiles(const KernelCall& call) {
  const std::int64_t counts = std::max<std::int64_t>(1, update_counts(call.numel(0)));
  const int tiles = tile_count(row_shape(call)[0], items_per_tile(row_shape(call)[1]));
  return static_cast<int>(std::min<std::int64_t>(tiles, counts));
}

Range equal_part(std::int64_t total, int part, int parts) { return {total * part / parts, total * (part + 1) / parts}; }

template <class T>
void run_row_tile(const KernelCall& call, int tile) {
  const auto& a = call.attributes<UpdateAttributes>();
  const UpdateRule& rule = rule_of(a);
  const int arrays = static_cast<int>(rule.arrays()), gradient = call.view_count - 1, tiles = row_tiles(call);
  std::int64_t step = 1;
  if (rule.counts_steps) {
    const Range counts = equal_part(call.numel(arrays), tile, tiles);
    for (std::int64_t i = counts.begin; i < counts.end; ++i) step = ++call.data<std::int64_t>(arrays)[i];
  }
  const auto numbers = rule.numbers(a, step);
  const std::int64_t width = row_shape(call)[1];
  const Range rows = equal_part(row_shape(call)[0], tile, tiles);
  for (std::int64_t k = rows.begin; k < rows.end; ++k) {
    if (call.data<std::int64_t>(gradient - 1)[k] != k) continue;
    const std::int64_t row = call.data<std::int64_t>(gradient - 2)[k];
    UpdateArrays<T> parts{.updated = {}, .gradient = call.data<T>(gradient) + k * width, .n = width};
    for (int i = 0; i < arrays; ++i) parts.updated[static_cast<std::size_t>(i)] = call.data<T>(i) + row * width;
    update_loops().of<T>().of_rule[a.rule](numbers, parts);
  }
}

void run_update_rows(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) { run_row_tile<T>(call, tile); });
}

std::int64_t rows_cost(const KernelCall& call) { return call.view_count * row_shape(call).numel(); }

}  // namespace

constinit const Kernel cpu_kernels::update{.run = run_update, .tiles = update_tiles};
constinit const Kernel cpu_kernels::update_rows{.run = run_update_rows, .tiles = row_tiles, .cost = rows_cost};

}  // namespace asyncgrad::detail
