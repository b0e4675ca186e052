#include "asyncgrad/autograd/networks/decomposed.h"

#include <vector>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/gradients.h"
#include "asyncgrad/autograd/tape/backward_function.h"

namespace asyncgrad::detail {

void differentiate(Gradients& gradients, std::span<const Tensor> inputs, const Tensor& dy,
                   const std::function<Tensor(std::span<const Tensor>)>& form) {
  // One input may have been computed from another: the gradients are those in nodes of their own.
  std::vector<Tensor> seen, wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    seen.push_back(inputs[i].defined() ? inputs[i].reshape(inputs[i].shape()) : Tensor());
    if (gradients.wants(static_cast<int>(i))) wanted.push_back(seen.back());
  }
  const std::vector<Tensor> found = grad(form(seen), wanted, dy, {.create_graph = true});
  for (std::size_t i = 0, next = 0; i < inputs.size(); ++i) {
    gradients(static_cast<int>(i), [&] { return found[next++]; });
  }
}

}  // namespace asyncgrad::detail
