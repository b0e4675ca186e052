#include "asyncgrad/optim/sgd.h"

#include <utility>

#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/optim/update.h"

namespace asyncgrad::optim {

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options, Location where) : Optimizer("SGD") {
  add_group(std::move(parameters), options, where);
}

void SGD::add_group(std::vector<Tensor> parameters, SGDOptions options, Location where) {
  const CallSite site(where);
  check_not_negative(name(), "weight_decay", options.weight_decay);
  check_not_negative(name(), "momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) throw_error(name(), "nesterov needs momentum, got momentum 0");
  Group group = made(std::move(parameters), options.lr);
  if (options.momentum != 0) add_state(group, "velocities", 0, where);
  add(std::move(group));
  options_.push_back(options);
}

void SGD::update(std::size_t number, const Group& group, Location where) {
  const SGDOptions& options = options_[number];
  submit_update(detail::Op::sgd, group,
                detail::SgdAttributes{.lr = group.lr,
                                      .momentum = options.momentum,
                                      .weight_decay = options.weight_decay,
                                      .nesterov = options.nesterov,
                                      .count = 0},
                where);
}

}  // namespace asyncgrad::optim
