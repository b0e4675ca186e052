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

int parameter_tiles(const KernelCall& call, int parameter) { return tile_count(call.numel(parameter), tile_elements); }

// The tiles of all parameters in their order, one after another.
int sgd_tiles(const KernelCall& call) {
  int tiles = 0;
  for (int i = 0; i < call.attributes<SgdAttributes>().count; ++i) tiles += parameter_tiles(call, i);
  return std::max(1, tiles);
}

void run_sgd(const KernelCall& call, int tile) {
  const auto& attributes = call.attributes<SgdAttributes>();
  int parameter = 0;
  for (; parameter < attributes.count && tile >= parameter_tiles(call, parameter); ++parameter) {
    tile -= parameter_tiles(call, parameter);
  }
  if (parameter == attributes.count) return;
  const int count = attributes.count;
  const Range range = tile_range(call.numel(parameter), tile_elements, tile);
  visit_floating(call.dtype(parameter), [&]<class T>(T) {
    const Step<T> step(attributes);
    if (attributes.momentum == 0) {
      step.run(call.data<T>(parameter), call.data<T>(count + parameter), range);
    } else {
      step.run(call.data<T>(parameter), call.data<T>(count + parameter), call.data<T>(2 * count + parameter), range);
    }
  });
}

}  // namespace

void add_sgd_kernels(Backend& backend) { kernel_of(backend, Op::sgd) = {.run = run_sgd, .tiles = sgd_tiles}; }

}  // namespace asyncgrad::detail
