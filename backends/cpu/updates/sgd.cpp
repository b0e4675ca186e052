// One step of stochastic gradient descent for a whole group of parameters.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/updates/parameter_parts.h"
#include "asyncgrad/backends/cpu/updates/update_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

int sgd_tiles(const KernelCall& call) { return parameter_tiles(call, call.attributes<SgdAttributes>().count); }

template <class T>
void run_part(const KernelCall& call, const ParameterPart& part) {
  const auto& a = call.attributes<SgdAttributes>();
  const UpdateLoops<T>& loops = updates_of<T>();
  const SgdNumbers<T> numbers{static_cast<T>(a.lr), static_cast<T>(a.momentum), static_cast<T>(a.weight_decay)};
  const auto array = [&](int list) { return call.data<T>(list * a.count + part.parameter) + part.range.begin; };
  const std::int64_t n = part.range.end - part.range.begin;
  if (a.momentum == 0) {
    loops.sgd(numbers, array(0), array(1), n);
  } else {
    (a.nesterov ? loops.sgd_nesterov : loops.sgd_momentum)(numbers, array(0), array(1), array(2), n);
  }
}

void run_sgd(const KernelCall& call, int tile) {
  visit_parts(call, call.attributes<SgdAttributes>().count, tile, [&](const ParameterPart& part) {
    visit_floating(call.dtype(part.parameter), [&]<class T>(T) { run_part<T>(call, part); });
  });
}

}  // namespace

void add_sgd_kernels(Backend& backend) { kernel_of(backend, Op::sgd) = {.run = run_sgd, .tiles = sgd_tiles}; }

}  // namespace asyncgrad::detail
