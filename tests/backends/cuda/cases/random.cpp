// Calls of random numbers.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

Results random(Inputs& in, Tensor (*draw)(const Shape&, double, double, RandomOptions, Location)) {
  Generator generator(7);
  return {draw({1001}, -1, 2, {in.dtype(), in.device(), &generator}, Location::current()),
          draw({7001}, 0, 1, {in.dtype(), in.device(), &generator}, Location::current())};
}

}  // namespace

DeviceCases random_cases() {
  using detail::Op;
  return {
      {"uniform", {Op::uniform}, [](Inputs& in) { return random(in, uniform); }},
      {"normal", {Op::normal}, [](Inputs& in) { return random(in, normal); }},
      {"dropout",
       {Op::dropout},
       [](Inputs& in) {
         Generator generator(7);
         const Tensor x = in.parameter({1001});
         const Tensor kept = dropout(x, 0.3, &generator);
         const Tensor kept_slice = dropout(slice(x, 0, 3, 1000), 0.8, &generator);  // which is not aligned
         return with_gradients(in, concat({kept, kept_slice, dropout(x, 1, &generator)}, 0), {x});
       }},
  };
}

}  // namespace asyncgrad::tests
