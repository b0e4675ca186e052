// One optimiser step of a whole group of parameters.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/tiling.h"

namespace asyncgrad::detail {

namespace {

// g' = g + weight_decay p;  v = momentum v + g';  p -= lr (nesterov ? g' + momentum v : v)
template <class T>
struct Step {
  T lr, momentum, weight_decay;
  bool nesterov;

  explicit Step(const SgdAttributes& a)
      : lr(static_cast<T>(a.lr)),
        momentum(static_cast<T>(a.momentum)),
        weight_decay(static_cast<T>(a.weight_decay)),
        nesterov(a.nesterov) {}

  void run(T* p, const T* g, Range range) const {
    for (std::int64_t i = range.begin; i < range.end; ++i) p[i] -= lr * (g[i] + weight_decay * p[i]);
  }
  void run(T* p, T* v, const T* g, Range range) const {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const T slope = g[i] + weight_decay * p[i];
      const T velocity = momentum * v[i] + slope;
      v[i] = velocity;
      p[i] -= lr * (nesterov ? slope + momentum * velocity : velocity);
    }
  }
};

// A tile is a range of all parameters' elements, one parameter behind another: many small ones make one tile.
std::int64_t elements(const KernelCall& call) {
  std::int64_t total = 0;
  for (int i = 0; i < call.attributes<SgdAttributes>().count; ++i) total += call.numel(i);
  return total;
}

int sgd_tiles(const KernelCall& call) { return tile_count(elements(call), tile_elements); }

template <class T>
void run_parameter(const KernelCall& call, int parameter, Range range) {
  const auto& attributes = call.attributes<SgdAttributes>();
  const int count = attributes.count;
  const Step<T> step(attributes);
  if (attributes.momentum == 0) {
    step.run(call.data<T>(parameter), call.data<T>(count + parameter), range);
  } else {
    step.run(call.data<T>(parameter), call.data<T>(count + parameter), call.data<T>(2 * count + parameter), range);
  }
}

void run_sgd(const KernelCall& call, int tile) {
  const Range all = tile_range(elements(call), tile_elements, tile);
  std::int64_t first = 0;  // of the parameter, among all elements
  for (int i = 0; i < call.attributes<SgdAttributes>().count; ++i) {
    const std::int64_t size = call.numel(i);
    const Range range{std::max<std::int64_t>(0, all.begin - first), std::min(size, all.end - first)};
    first += size;
    if (range.begin >= range.end) continue;
    visit_floating(call.dtype(i), [&]<class T>(T) { run_parameter<T>(call, i, range); });
  }
}

}  // namespace

void add_sgd_kernels(Backend& backend) { kernel_of(backend, Op::sgd) = {.run = run_sgd, .tiles = sgd_tiles}; }

}  // namespace asyncgrad::detail
