#include "asyncgrad/nn/dropout.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/dropout.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/checks.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/warn.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::nn {

namespace {

// A program that records nothing hardly trains.
void warn_of_evaluation(double p, const Arg& x) {
  detail::warn("Dropout", fmt::format("drops {:g} of x {} under {}, which looks like evaluation; {}{} keeps all of it",
                                      p, x->defined() ? x->shape().str() : "", detail::no_grad_str(),
                                      detail::inference_str(), detail::in_program("", ", or net.eval(),")));
}

}  // namespace

Dropout::Dropout(double p, Generator* generator, Location where) : p(p), generator(generator) {
  const CallSite site(where);
  check_in_unit_interval("Dropout", "p", p);
}

Tensor Dropout::operator()(const Arg& x) const {
  if (!is_training()) return x.tensor();
  if (!grad_enabled() && p > 0) warn_of_evaluation(p, x);
  return dropout(x, p, generator);
}

}  // namespace asyncgrad::nn
