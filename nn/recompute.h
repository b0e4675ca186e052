// A layer that is computed twice in place of keeping what its gradient needs.
#pragma once

#include <type_traits>
#include <utility>

#include "asyncgrad/autograd/recompute.h"

namespace asyncgrad::nn {

// Computes layer(x) and keeps only x, see recomputed(). `layer` is anything that turns a tensor into a tensor. The tape
// keeps a copy of it, which shares its parameters. Running statistics are updated once.
//
//   Tensor operator()(const Arg& x) const {
//     Tensor h = x;
//     for (const Block& block : blocks) h = nn::recompute(block, h);  // keeps one tensor for each block
//     return h;
//   }
template <class Layer>
Tensor recompute(Layer layer, const Arg& x) {
  static_assert(std::is_invocable_r_v<Tensor, const Layer&, const Arg&>,
                "a layer is called with a tensor and returns one: `Tensor operator()(const Tensor& x) const`");
  return recomputed([layer = std::move(layer)](const Arg& input) -> Tensor { return layer(input); }, x);
}

}  // namespace asyncgrad::nn
