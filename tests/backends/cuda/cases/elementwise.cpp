// Calls of elementwise operations.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

Results one_input(Inputs& in, Tensor (*function)(const Arg&), double low = -3) {
  const Tensor x = in.parameter({37, 21}, low);
  return with_gradients(in, function(x), {x});
}
Results two_inputs(Inputs& in, Tensor (*function)(const Arg&, const Arg&), double low = -3) {
  const Tensor x = in.parameter({37, 21}, low), y = in.parameter({21}, low);
  return with_gradients(in, function(x, y), {x, y});
}

}  // namespace

DeviceCases elementwise_cases() {
  return {
      {"negate", {}, [](Inputs& in) { return one_input(in, operator-); }},
      {"relu", {}, [](Inputs& in) { return one_input(in, relu); }},
      {"sigmoid", {}, [](Inputs& in) { return one_input(in, sigmoid); }},
      {"tanh", {}, [](Inputs& in) { return one_input(in, tanh); }},
      {"exp", {}, [](Inputs& in) { return one_input(in, exp); }},
      {"log", {}, [](Inputs& in) { return one_input(in, log, 0.5); }},
      {"square", {}, [](Inputs& in) { return one_input(in, square); }},
      {"sqrt", {}, [](Inputs& in) { return one_input(in, sqrt, 0.5); }},
      {"abs", {}, [](Inputs& in) { return one_input(in, abs); }},
      {"add", {}, [](Inputs& in) { return two_inputs(in, operator+); }},
      {"subtract", {}, [](Inputs& in) { return two_inputs(in, operator-); }},
      {"multiply", {}, [](Inputs& in) { return two_inputs(in, operator*); }},
      {"divide", {}, [](Inputs& in) { return two_inputs(in, operator/, 0.5); }, 1e-4},
      {"pow", {}, [](Inputs& in) { return two_inputs(in, pow, 0.5); }, 1e-4},
      {"maximum", {}, [](Inputs& in) { return two_inputs(in, maximum); }},
      {"minimum", {}, [](Inputs& in) { return two_inputs(in, minimum); }},
      {"half_squared_error", {}, [](Inputs& in) { return two_inputs(in, half_squared_error); }},
      {"where",
       {},
       [](Inputs& in) {
         const Tensor x = in.parameter({37, 21}), y = in.parameter({37, 21});
         return with_gradients(in, where(less(x.detach(), y.detach()), x, y), {x, y});
       }},
      {"compare",
       {},
       [](Inputs& in) {
         const Tensor x = in({37, 21}), y = in({37, 1});
         const Tensor below = x<y, above = x> 0.5;
         const Tensor later = x.slice(1, 36), later_below = below.slice(1, 36);  // that begin anywhere
         return Results{x == x,
                        below,
                        above,
                        x <= 2,
                        x != x,
                        x >= y,
                        isnan(x),
                        isfinite(x),
                        below & above,
                        below | !above,
                        ~above,
                        below ^ (x >= 0),
                        logical_and(x, y),
                        later < 1,
                        later_below ^ (later > 0)};
       }},
      {"bools",
       {},
       [](Inputs& in) {
         const Tensor x = in.parameter({37, 21}), y = in.parameter({37, 1});
         return with_gradients(in, where(x.detach() < y.detach(), x, y) + masked_fill(x * (x > 0), y > 0, 3), {x, y});
       }},
      {"types",
       {},
       [](Inputs& in) {
         const Tensor x = in({37, 21}), rows = in.integers({9}, 37);
         Results results;
         for (const DType dtype : {int32, uint8, bfloat16, boolean}) {
           const Tensor y = (x * 3).to(dtype);
           results.insert(results.end(), {y, y.transpose(), take(y, rows), concat({y, y}, 1), tril(y), y.to(int64)});
         }
         return results;
       }},
      {"integers",
       {},
       [](Inputs& in) {
         const Tensor x = in.integers({300}, 50), y = in.integers({300}, 50);
         return Results{x + y, x * y - 3, maximum(x, y), equal(x, y), square(x), sum(x), max(x, 0)};
       }},
  };
}

}  // namespace asyncgrad::tests
