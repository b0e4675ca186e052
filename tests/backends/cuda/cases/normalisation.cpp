// Calls of normalisations.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

// Rows of n elements, with a weight and a bias, with one of them, and with none.
Results layer_norms(Inputs& in, std::int64_t rows, std::int64_t n) {
  const Tensor x = in.parameter({rows, n}), weight = in.parameter({n}), bias = in.parameter({n});
  const Tensor y = layer_norm(x, weight, bias, {.epsilon = 0.1});
  return with_gradients(in, y + layer_norm(y, weight) + layer_norm(x, {}, bias) + layer_norm(x), {x, weight, bias});
}
Results rms_norms(Inputs& in, std::int64_t rows, std::int64_t n) {
  const Tensor x = in.parameter({rows, n}), weight = in.parameter({n});
  return with_gradients(in, rms_norm(x, weight) + rms_norm(x), {x, weight});
}

}  // namespace

DeviceCases normalisation_cases() {
  using detail::Op;
  const std::vector<Op> rows{Op::layer_norm, Op::layer_norm_grad};
  return {
      // Rows of a warp, in two tiles, and of a block, and those that are read again.
      {"layer_norm_of_short_rows", rows, [](Inputs& in) { return layer_norms(in, 101, 5); }, 1e-4},
      {"layer_norm_of_a_warp", rows, [](Inputs& in) { return layer_norms(in, 100, 701); }, 1e-4},
      {"layer_norm_of_a_long_warp", rows, [](Inputs& in) { return layer_norms(in, 3, 1023); }, 1e-4},
      {"layer_norm_of_a_block", rows, [](Inputs& in) { return layer_norms(in, 5, 2047); }, 1e-4},
      {"layer_norm_of_a_long_block", rows, [](Inputs& in) { return layer_norms(in, 2, 4095); }, 1e-4},
      {"layer_norm_of_long_rows", rows, [](Inputs& in) { return layer_norms(in, 2, 4100); }, 1e-4},
      {"layer_norm_of_one_element", rows, [](Inputs& in) { return layer_norms(in, 30, 1); }, 1e-4},
      {"layer_norm_of_no_row", rows, [](Inputs& in) { return layer_norms(in, 0, 7); }},
      {"layer_norm_of_nothing", rows, [](Inputs& in) { return layer_norms(in, 3, 0); }},
      {"rms_norm", rows, [](Inputs& in) { return rms_norms(in, 100, 77); }, 1e-4},
      {"rms_norm_of_a_block", rows, [](Inputs& in) { return rms_norms(in, 3, 1025); }, 1e-4},
  };
}

}  // namespace asyncgrad::tests
