// Calls of what goes along an axis element by element.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

DeviceCases scan_cases() {
  using detail::Op;
  return {
      // Along lines that a thread, a warp and a block have, and across, each in one chunk and in several.
      {"cumsum", {Op::cumsum}, with_parameter({30, 12, 7}, [](const Tensor& x) { return cumsum(x, 1); })},
      {"cumsum_of_chunks", {Op::cumsum}, with_parameter({2, 300, 3}, [](const Tensor& x) { return cumsum(x, 1); })},
      {"cumsum_of_a_thread", {Op::cumsum}, with_parameter({50, 13}, [](const Tensor& x) { return cumsum(x, 1); })},
      {"cumsum_of_a_warp", {Op::cumsum}, with_parameter({9, 77}, [](const Tensor& x) { return cumsum(x, 1); })},
      {"cumsum_of_a_block", {Op::cumsum}, with_parameter({2, 2001}, [](const Tensor& x) { return cumsum(x, 1); })},
      {"cumsum_of_long_lines",
       {Op::cumsum},
       with_parameter({2, 33000}, [](const Tensor& x) { return cumsum(x, 1); }),
       1e-4},
      // Of so many chunks that these are cut into chunks, too.
      {"cumsum_of_many_chunks",
       {Op::cumsum},
       with_parameter({1, 4200, 2}, [](const Tensor& x) { return cumsum(x, 1); }),
       1e-4},
      {"cumsum_of_nothing",
       {Op::cumsum},
       [](Inputs& in) {
         return Results{cumsum(in({2, 0, 3}), 1), cumsum(in({0, 3}), 1)};
       }},
      {"cumsum_of_integers",
       {Op::cumsum},
       [](Inputs& in) {
         const Tensor x = in.integers({70, 30}, 50);
         return Results{cumsum(x, 0), cumsum(x, 1)};
       }},
  };
}

}  // namespace asyncgrad::tests
