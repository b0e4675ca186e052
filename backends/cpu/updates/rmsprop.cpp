// One step of RMSprop for a whole group of parameters.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/updates/parameter_parts.h"
#include "asyncgrad/backends/cpu/updates/update_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

int rmsprop_tiles(const KernelCall& call) { return parameter_tiles(call, call.attributes<RmspropAttributes>().count); }

template <class T>
void run_part(const KernelCall& call, const ParameterPart& part) {
  const auto& a = call.attributes<RmspropAttributes>();
  const UpdateLoops<T>& loops = updates_of<T>();
  const RmspropNumbers<T> numbers{.lr = static_cast<T>(a.lr),
                                  .alpha = static_cast<T>(a.alpha),
                                  .rest = static_cast<T>(1 - a.alpha),
                                  .epsilon = static_cast<T>(a.epsilon),
                                  .weight_decay = static_cast<T>(a.weight_decay),
                                  .momentum = static_cast<T>(a.momentum)};
  const auto array = [&](int list) { return call.data<T>(list * a.count + part.parameter) + part.range.begin; };
  const std::int64_t n = part.range.end - part.range.begin;
  if (a.centered && a.momentum != 0) {
    loops.rmsprop_centered_momentum(numbers, array(0), array(1), array(2), array(3), array(4), n);
  } else if (a.centered || a.momentum != 0) {
    (a.centered ? loops.rmsprop_centered : loops.rmsprop_momentum)(numbers, array(0), array(1), array(2), array(3), n);
  } else {
    loops.rmsprop(numbers, array(0), array(1), array(2), n);
  }
}

void run_rmsprop(const KernelCall& call, int tile) {
  visit_parts(call, call.attributes<RmspropAttributes>().count, tile, [&](const ParameterPart& part) {
    visit_floating(call.dtype(part.parameter), [&]<class T>(T) { run_part<T>(call, part); });
  });
}

}  // namespace

void add_rmsprop_kernels(Backend& backend) {
  kernel_of(backend, Op::rmsprop) = {.run = run_rmsprop, .tiles = rmsprop_tiles};
}

}  // namespace asyncgrad::detail
