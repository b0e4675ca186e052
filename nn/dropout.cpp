#include "asyncgrad/nn/dropout.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/dropout.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn {

Dropout::Dropout(double p, Generator* generator, Location where) : p(p), generator(generator) {
  const CallSite site(where);
  if (!(p >= 0 && p <= 1)) throw_error("Dropout", fmt::format("p must be in [0, 1], got {}", p));
}

Tensor Dropout::operator()(const Arg& x) const { return is_training() ? dropout(x, p, generator) : x.tensor(); }

}  // namespace asyncgrad::nn
