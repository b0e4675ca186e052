#include "asyncgrad/optim/sgd.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::optim {

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options, Location where) : Optimizer("SGD") {
  add_group(std::move(parameters), options, where);
}

void SGD::add_group(std::vector<Tensor> parameters, SGDOptions options, Location where) {
  const CallSite site(where);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) throw_error(name(), "nesterov needs momentum, got momentum 0");
  const rules::SgdOptions o{.lr = options.lr, .momentum = options.momentum, .weight_decay = options.weight_decay};
  add(std::move(parameters),
      options.momentum == 0 ? detail::update_by<rules::Sgd>(o)
      : options.nesterov    ? detail::update_by<rules::SgdNesterov>(o)
                            : detail::update_by<rules::SgdMomentum>(o),
      where);
}

}  // namespace asyncgrad::optim
