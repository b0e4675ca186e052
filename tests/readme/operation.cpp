#include <algorithm>

#include "asyncgrad/asyncgrad.h"
namespace ag = asyncgrad;

ag::Tensor reversed(const ag::Tensor& x) {
  return ag::custom("reversed", {.shape = x.shape()}, {x.detach()}, [](const ag::CustomCall& call) {
    std::ranges::reverse_copy(call.input<float>(0), call.output<float>().begin());
  });
}

int main() {
  const ag::Tensor x = ag::parameter(ag::arange(0, 4));
  const ag::Tensor y =
      ag::with_gradient("reversed", reversed(x), {x}, [](const auto& call) { return reversed(call.dy()); });
  ag::sum(y * ag::arange(0, 4)).backward();
  return x.grad().to_vector<float>() == std::vector<float>{3, 2, 1, 0} ? 0 : 1;
}
