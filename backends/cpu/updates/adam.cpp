// One step of Adam for a whole group of parameters.
#include "asyncgrad/backends/adam_numbers.h"
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/updates/parameter_parts.h"
#include "asyncgrad/backends/cpu/updates/update_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

static_assert(adam_elements_per_count == tile_elements, "a part has one count");

int adam_tiles(const KernelCall& call) { return parameter_tiles(call, call.attributes<AdamAttributes>().count); }

template <class T>
void run_tile(const KernelCall& call, int tile) {
  const auto& a = call.attributes<AdamAttributes>();
  std::int64_t numbers_step = 0;  // powers cost more than a small part, and most parameters are at the same step
  AdamNumbers<T> numbers{};
  visit_parts(call, a.count, tile, [&](const ParameterPart& part) {
    std::int64_t& steps = call.data<std::int64_t>(3 * a.count + part.parameter)[part.index];
    if (++steps != numbers_step) {
      numbers_step = steps;
      numbers = adam_numbers<T>(a, steps);
    }
    const auto array = [&](int list) { return call.data<T>(list * a.count + part.parameter) + part.range.begin; };
    updates_of<T>().adam(numbers, array(0), array(1), array(2), array(4), part.range.end - part.range.begin);
  });
}

void run_adam(const KernelCall& call, int tile) {
  if (call.attributes<AdamAttributes>().count == 0) return;
  visit_floating(call.dtype(0), [&]<class T>(T) { run_tile<T>(call, tile); });
}

}  // namespace

void add_adam_kernels(Backend& backend) { kernel_of(backend, Op::adam) = {.run = run_adam, .tiles = adam_tiles}; }

}  // namespace asyncgrad::detail
