// One step of Adagrad for a whole group of parameters.
#include "asyncgrad/backends/cpu/families.h"
#include "asyncgrad/backends/cpu/updates/parameter_parts.h"
#include "asyncgrad/backends/cpu/updates/update_loops.h"
#include "asyncgrad/backends/element_types.h"

namespace asyncgrad::detail {

namespace {

int adagrad_tiles(const KernelCall& call) { return parameter_tiles(call, call.attributes<AdagradAttributes>().count); }

template <class T>
void run_part(const KernelCall& call, const ParameterPart& part) {
  const auto& a = call.attributes<AdagradAttributes>();
  const AdagradNumbers<T> numbers{static_cast<T>(a.lr), static_cast<T>(a.epsilon), static_cast<T>(a.weight_decay)};
  const auto array = [&](int list) { return call.data<T>(list * a.count + part.parameter) + part.range.begin; };
  updates_of<T>().adagrad(numbers, array(0), array(1), array(2), part.range.end - part.range.begin);
}

void run_adagrad(const KernelCall& call, int tile) {
  visit_parts(call, call.attributes<AdagradAttributes>().count, tile, [&](const ParameterPart& part) {
    visit_floating(call.dtype(part.parameter), [&]<class T>(T) { run_part<T>(call, part); });
  });
}

}  // namespace

void add_adagrad_kernels(Backend& backend) {
  kernel_of(backend, Op::adagrad) = {.run = run_adagrad, .tiles = adagrad_tiles};
}

}  // namespace asyncgrad::detail
