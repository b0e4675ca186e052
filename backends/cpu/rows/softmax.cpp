// softmax, log_softmax, cross_entropy and their gradients: a tile is a range of lines along the normalised axis.
#include "asyncgrad/backends/cpu/rows/softmax_rows.h"
#include "asyncgrad/backends/element_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/rows/axis_lines.h"
#include "asyncgrad/backends/cpu/tiling.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

// --- along any axis

// Lines that are not contiguous are computed in scratch, several neighbours at once, so that memory is read and written
// by whole cache lines.
std::int64_t lines_at_once(const ReduceAttributes& a) {
  constexpr std::int64_t max_elements = 8192;
  return std::clamp<std::int64_t>(max_elements / std::max<std::int64_t>(a.axis, 1), 1, 16);
}
std::int64_t line_scratch(const KernelCall& call) {
  const auto& a = call.attributes<ReduceAttributes>();
  if (a.inner == 1) return 0;
  return call.view_count * lines_at_once(a) * a.axis * static_cast<std::int64_t>(size_bytes(call.dtype(0)));
}

template <class T>
void gather(const T* in, T* lines, std::int64_t count, const ReduceAttributes& a) {
  for (std::int64_t i = 0; i < a.axis; ++i) {
    for (std::int64_t line = 0; line < count; ++line) lines[line * a.axis + i] = in[i * a.inner + line];
  }
}
template <class T>
void scatter(const T* lines, T* out, std::int64_t count, const ReduceAttributes& a) {
  for (std::int64_t i = 0; i < a.axis; ++i) {
    for (std::int64_t line = 0; line < count; ++line) out[i * a.inner + line] = lines[line * a.axis + i];
  }
}

// Calls function(inputs…, out, n) for each line of a tile.
template <class T, std::size_t... I, class Function>
void each_line(const KernelCall& call, int tile, Function function, std::index_sequence<I...>) {
  const auto& a = call.attributes<ReduceAttributes>();
  if (a.axis == 0) return;
  T* const scratch = reinterpret_cast<T*>(call.scratch);
  const std::int64_t max_lines = lines_at_once(a), operand = max_lines * a.axis;
  each_group_of_lines(call, tile, max_lines, [&](std::int64_t, std::int64_t first, std::int64_t count) {
    if (a.inner == 1) {
      return function(call.data<T>(static_cast<int>(I) + 1) + first..., call.data<T>(0) + first, a.axis);
    }
    (gather(call.data<T>(static_cast<int>(I) + 1) + first, scratch + static_cast<std::int64_t>(I + 1) * operand, count,
            a),
     ...);
    for (std::int64_t k = 0; k < count * a.axis; k += a.axis) {
      function(scratch + static_cast<std::int64_t>(I + 1) * operand + k..., scratch + k, a.axis);
    }
    scatter(scratch, call.data<T>(0) + first, count, a);
  });
}

void run_softmax(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    each_line<T>(call, tile, softmax_rows().of<T>().softmax, std::make_index_sequence<1>());
  });
}
void run_softmax_grad(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    each_line<T>(call, tile, softmax_rows().of<T>().softmax_grad, std::make_index_sequence<2>());
  });
}
void run_log_softmax(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    each_line<T>(call, tile, softmax_rows().of<T>().log_softmax, std::make_index_sequence<1>());
  });
}
void run_log_softmax_grad(const KernelCall& call, int tile) {
  visit_floating(call.dtype(0), [&]<class T>(T) {
    each_line<T>(call, tile, softmax_rows().of<T>().log_softmax_grad, std::make_index_sequence<2>());
  });
}

// --- cross_entropy: logits (N, C), labels (N)

void check_labels(const char* operation, const KernelCall& call) {
  const std::int64_t* const labels = call.data<std::int64_t>(2);
  const std::int64_t classes = call.shape(1)[1];
  for (std::int64_t i = 0; i < call.numel(2); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      throw_error(operation, fmt::format("label {} at position {} is outside {} classes", labels[i], i, classes),
                  ErrorKind::index);
    }
  }
}
void check_cross_entropy(const KernelCall& call) { check_labels("cross_entropy", call); }
void check_cross_entropy_grad(const KernelCall& call) { check_labels("cross_entropy_grad", call); }

Range sample_range(const KernelCall& call, int tile) {
  return tile_range(call.shape(1)[0], items_per_tile(call.shape(1)[1]), tile);
}
int sample_tiles(const KernelCall& call) { return tile_count(call.shape(1)[0], items_per_tile(call.shape(1)[1])); }

void run_cross_entropy(const KernelCall& call, int tile) {
  const std::int64_t classes = call.shape(1)[1];
  const std::int64_t* const labels = call.data<std::int64_t>(2);
  const Range samples = sample_range(call, tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t i = samples.begin; i < samples.end; ++i) {
      call.data<T>(0)[i] = softmax_rows().of<T>().cross_entropy(call.data<T>(1) + i * classes, labels[i], classes);
    }
  });
}

void run_cross_entropy_grad(const KernelCall& call, int tile) {
  const std::int64_t classes = call.shape(1)[1];
  const std::int64_t* const labels = call.data<std::int64_t>(2);
  const Range samples = sample_range(call, tile);
  visit_floating(call.dtype(0), [&]<class T>(T) {
    for (std::int64_t i = samples.begin; i < samples.end; ++i) {
      softmax_rows().of<T>().cross_entropy_grad(call.data<T>(1) + i * classes, labels[i], call.data<T>(3)[i],
                                                call.data<T>(0) + i * classes, classes);
    }
  });
}

constexpr Kernel along_axis(void (*run)(const KernelCall& call, int tile)) {
  return {.run = run, .tiles = line_tiles, .scratch_bytes = line_scratch};
}

}  // namespace

constinit const Kernel cpu_kernels::softmax = along_axis(run_softmax);
constinit const Kernel cpu_kernels::softmax_grad = along_axis(run_softmax_grad);
constinit const Kernel cpu_kernels::log_softmax = along_axis(run_log_softmax);
constinit const Kernel cpu_kernels::log_softmax_grad = along_axis(run_log_softmax_grad);
constinit const Kernel cpu_kernels::cross_entropy{
    .run = run_cross_entropy, .tiles = sample_tiles, .prepare = check_cross_entropy};
constinit const Kernel cpu_kernels::cross_entropy_grad{
    .run = run_cross_entropy_grad, .tiles = sample_tiles, .prepare = check_cross_entropy_grad};

}  // namespace asyncgrad::detail
