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
      {"randint",
       {Op::randint},
       [](Inputs& in) {
         Generator generator(7);
         const RandomIntegerOptions options{.device = in.device(), .generator = &generator};
         return Results{randint(-5, 17, {1001}, options), randint(-(1LL << 52), 1LL << 52, {7}, options)};
       }},
      {"permutation",
       {Op::permutation},
       [](Inputs& in) {  // sorted by a thread, a warp and blocks, which are merged
         Generator generator(7);
         Results results;
         for (const std::int64_t n : {0, 1, 2, 9, 100, 2100}) {
           results.push_back(permutation(n, {.device = in.device(), .generator = &generator}));
         }
         return results;
       }},
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
