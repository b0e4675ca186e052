// A gradient of one's own for a function made of operations.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// Holds the values from which a gradient of one's own is computed.
class GradientCall {
 public:
  // The gradient of the value, of its shape.
  virtual const Tensor& dy() const = 0;
  // Whether the gradient of input i is wanted; one that is not may be left Tensor{}.
  virtual bool wants(int i) const = 0;
  // The i-th tensor that with_gradient() was asked to save. Throws Error if it was written in place since.
  virtual const Tensor& saved(int i) const = 0;

 protected:
  ~GradientCall() = default;
};

using GradientFunction = std::function<std::vector<Tensor>(const GradientCall& call)>;

// Says whether a gradient of one's own has gradients itself, for GradOptions::create_graph.
enum class GradientOrder : std::uint8_t {
  first,  // it has none: ag::grad() with create_graph throws Error
  any,    // it computes its results from dy(), and from what it saved, by differentiable operations alone
};

// `value`, with `backward` for its gradients: backward() calls it with the gradient of the value, under NoGrad, and it
// returns those of `inputs`, in their order and of their shapes; Tensor{} stands for none. The value's own history is
// ignored. `saved` are tensors that `backward` reads, by GradientCall::saved(). The result shares its storage with
// `value`. Nothing is queued; `name` appears in messages.
//
// With GradientOrder::any `backward` is also called while operations are recorded; inputs and the value then come from
// GradientCall::saved() with their history, and all else that is saved is a constant. So it may save nothing else that
// depends on the inputs.
//
// Throws Error if the value is neither float32 nor float64, and, with GradientOrder::any, for a saved tensor that has a
// history, is no input and not the value. backward() throws Error if `backward` returns more or fewer gradients than
// there are inputs, or one of another shape, type or device.
//
//   ag::Tensor round_through(const ag::Tensor& x) {  // rounds; the gradient is as if it did not
//     const auto pass_on = [](const auto& call) { return call.dy(); };
//     return ag::with_gradient("round_through", ag::round(x.detach()), {x}, pass_on);
//   }
Tensor with_gradient(std::string_view name, const Tensor& value, TensorList inputs, GradientFunction backward,
                     TensorList saved = {}, GradientOrder order = GradientOrder::first,
                     Location where = Location::current());

// The same for one input: `backward` returns its gradient alone.
template <class Backward>
requires std::convertible_to<std::invoke_result_t<Backward&, const GradientCall&>, Tensor> Tensor
with_gradient(std::string_view name, const Tensor& value, TensorList inputs, Backward backward, TensorList saved = {},
              GradientOrder order = GradientOrder::first, Location where = Location::current()) {
  return with_gradient(name, value, inputs,
                       GradientFunction([backward = std::move(backward)](const GradientCall& call) mutable {
                         return std::vector<Tensor>{backward(call)};
                       }),
                       saved, order, where);
}

}  // namespace asyncgrad
