// A layer made of any function.
#pragma once

#include <concepts>
#include <functional>
#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// function(x), with what it captures: `Function([scale](const Tensor& x) { return x * scale; })`. A copy shares the
// captured tensors. They are no members: neither trained nor saved, cloned or moved to another device. A layer of its
// own lists its members instead (members.h).
struct Function {
  // Throws Error for a null function.
  template <class Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, Function> &&
           std::is_invocable_r_v<Tensor, const Callable&, const Tensor&>) explicit Function(Callable callable) {
    if (std::function<Tensor(const Tensor&)>(callable) == nullptr)
      throw_error("Function", "there is no function: the callable is empty");
    // An operation such as `relu` takes an Arg. It is made here, because in std::function it would name a line of the
    // standard library.
    function = [callable = std::move(callable)](const Arg& x) -> Tensor { return callable(x.tensor()); };
  }

  // Blocks and throws as the function does.
  Tensor operator()(const Arg& x) const { return function(x); }
  void members(Members&) {}

  std::function<Tensor(const Arg& x)> function;
};

}  // namespace asyncgrad::nn
