// A layer that is computed twice in place of keeping what its gradient needs.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

namespace recompute_detail {
using Function = std::function<Tensor(const Tensor& x, const Location& where)>;
Tensor run(Function layer, const Arg& x);
}  // namespace recompute_detail

// layer(x), of which the tape keeps x, the result and nothing in between: backward() computes the layer once more, and
// takes the gradients from that. `layer` is anything that turns a tensor into one; of it a copy is kept, as of a layer
// that shares its parameters. Values and gradients have the same bits as those of layer(x): the second time it gets the
// same random numbers, which moves no generator; it trains or evaluates as it did; and layers with running statistics
// count once (is_recomputing()). All inputs that have a history get their gradients: x, parameters, and tensors that a
// function captures.
//
// It computes and queues what layer(x) does, and throws what that throws; also Error if the layer writes x in place.
// backward() throws Error if x or a parameter was written in place since, or if the layer computes something else the
// second time.
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
  return recompute_detail::run(
      [layer = std::move(layer)](const Tensor& input, const Location& where) -> Tensor {
        return std::as_const(layer)(Arg(input, where.file, where.line));
      },
      x);
}

}  // namespace asyncgrad::nn
