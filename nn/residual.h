// The layer that adds its input to what another layer makes of it.
#pragma once

#include <utility>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// x + layer(x), whose shape must be x's or broadcast with it: He et al. 2016, "Deep residual learning for image
// recognition". `Residual block{Sequential{…}}`. It blocks and throws as the layer does.
template <class Layer>
struct Residual {
  explicit Residual(Layer inner) : layer(std::move(inner)) {}

  Tensor operator()(const Arg& x) const { return x + layer(x); }
  void members(Members& m) { m("layer", layer); }

  Layer layer;
};

}  // namespace asyncgrad::nn
