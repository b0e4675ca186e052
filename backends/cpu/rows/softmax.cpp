// softmax, log_softmax, cross_entropy and their gradients: a tile is a range of lines along the normalised axis.
#include "asyncgrad/backends/cpu/rows/softmax_rows.h"
#include "asyncgrad/backends/element_types.h"

#include <algorithm>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/checks.h"

namespace asyncgrad::detail {

namespace {

// --- along any axis

// Neighbouring lines share cache lines, so that a tile of long ones has several, too.
std::int64_t least_lines(const ReduceAttributes& a) { return std::clamp<std::int64_t>(a.inner, 1, line_floats); }
std::int64_t lines_per_tile(const ReduceAttributes& a) { return std::max(items_per_tile(a.axis), least_lines(a)); }

int line_tiles(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return tile_count(a.outer * a.inner, lines_per_tile(a));
}

std::int64_t line_scratch(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  return softmax_scratch(a.axis, a.inner) * call.element_bytes(0);
}

// Calls a function for the lines of a tile, those that lie side by side at once.
template <class T>
void run_lines(const KernelCall& call, int tile, void (*function)(const SoftmaxLines<T>& lines)) {
  const auto& a = call.attributes<ReduceAttributes>();
  if (a.axis == 0) return;
  const auto run = [&](std::int64_t first, std::int64_t count) {
    function({.count = count,
              .n = a.axis,
              .step = a.inner,
              .x = call.data<T>(1) + first,
              .dy = call.view_count > 2 ? call.data<T>(2) + first : nullptr,
              .out = call.data<T>(0) + first,
              .scratch = reinterpret_cast<T*>(call.scratch)});
  };
  const Range lines = tile_range(a.outer * a.inner, lines_per_tile(a), tile, least_lines(a));
  if (a.inner == 1) return run(lines.begin * a.axis, lines.end - lines.begin);
  for (std::int64_t line = lines.begin, count = 0; line < lines.end; line += count) {
    const std::int64_t column = line % a.inner;
    count = std::min(lines.end - line, a.inner - column);
    run(line / a.inner * a.axis * a.inner + column, count);
  }
}

// function(table) is the function of the table.
template <auto function>
void run_along_axis(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) { run_lines<T>(call, tile, function(softmax_rows().of<T>())); });
}
template <auto function>
constexpr Kernel along_axis{.run = run_along_axis<function>, .tiles = line_tiles, .scratch_bytes = line_scratch};

// --- cross_entropy: logits (N, C), labels (N)

void check_labels(const char* operation, const KernelCall& call) {
  const std::int64_t* const labels = call.data<std::int64_t>(2);
  const std::int64_t classes = call.shape(1)[1];
  for (std::int64_t i = 0; i < call.numel(2); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) throw_outside(operation, "label", labels[i], i, classes, "classes");
  }
}
void check_cross_entropy(const KernelCall& call) { check_labels("cross_entropy", call); }
void check_cross_entropy_grad(const KernelCall& call) { check_labels("cross_entropy_grad", call); }

int sample_tiles(const KernelCall& call) { return tile_count(call.shape(1)[0], items_per_tile(call.shape(1)[1])); }
std::int64_t sample_scratch(const KernelCall& call) {
  return softmax_scratch(call.shape(1)[1], 1) * call.element_bytes(0);
}

template <bool is_grad>
void run_cross_entropy(const KernelCall& call, int tile) {
  const std::int64_t classes = call.shape(1)[1];
  const Range samples = tile_range(call.shape(1)[0], items_per_tile(classes), tile);
  const std::int64_t* const labels = call.data<std::int64_t>(2) + samples.begin;
  visit_floating(call.dtype(0), [&]<class T>(T) {
    const SoftmaxLines<T> rows{.count = samples.end - samples.begin,
                               .n = classes,
                               .step = 1,
                               .x = call.data<T>(1) + samples.begin * classes,
                               .dy = is_grad ? call.data<T>(3) + samples.begin : nullptr,
                               .out = call.data<T>(0) + samples.begin * (is_grad ? classes : 1),
                               .scratch = reinterpret_cast<T*>(call.scratch)};
    const SoftmaxRows<T>& functions = softmax_rows().of<T>();
    (is_grad ? functions.cross_entropy_grad : functions.cross_entropy)(rows, labels);
  });
}

}  // namespace

constinit const Kernel cpu_kernels::softmax = along_axis<[](const auto& rows) { return rows.softmax; }>;
constinit const Kernel cpu_kernels::softmax_grad = along_axis<[](const auto& rows) { return rows.softmax_grad; }>;
constinit const Kernel cpu_kernels::log_softmax = along_axis<[](const auto& rows) { return rows.log_softmax; }>;
constinit const Kernel cpu_kernels::log_softmax_grad =
    along_axis<[](const auto& rows) { return rows.log_softmax_grad; }>;
constinit const Kernel cpu_kernels::cross_entropy{.run = run_cross_entropy<false>,
                                                  .tiles = sample_tiles,
                                                  .prepare = check_cross_entropy,
                                                  .scratch_bytes = sample_scratch};
constinit const Kernel cpu_kernels::cross_entropy_grad{.run = run_cross_entropy<true>,
                                                       .tiles = sample_tiles,
                                                       .prepare = check_cross_entropy_grad,
                                                       .scratch_bytes = sample_scratch};

}  // namespace asyncgrad::detail
