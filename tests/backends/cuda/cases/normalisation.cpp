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

Results group_norms(Inputs& in, const Shape& shape, std::int64_t groups) {
  const Tensor x = in.parameter(shape), weight = in.parameter({shape[1]}), bias = in.parameter({shape[1]});
  const Tensor y = group_norm(x, groups, weight, bias, 0.1);
  const Tensor all = y + group_norm(y, groups, weight) + group_norm(x, groups, {}, bias) + group_norm(x, groups);
  return with_gradients(in, all, {x, weight, bias});
}
DeviceCase group_norm_case(const std::string& name, const Shape& shape, std::int64_t groups, bool is_large = false) {
  return {name,
          {detail::Op::group_norm, detail::Op::group_norm_grad},
          [=](Inputs& in) { return group_norms(in, shape, groups); },
          1e-4,
          is_large};
}

// In training and in evaluation, each with a weight and a bias, with one of them, and with none.
Results batch_norms(Inputs& in, const Shape& shape) {
  const Shape channels{shape[1]};
  const Tensor x = in.parameter(shape), weight = in.parameter(channels), bias = in.parameter(channels);
  const Tensor mean = in(channels), variance = in(channels, 0.5);
  const BatchNormResult all = batch_norm(x + 10, weight, bias, {.epsilon = 0.1});
  Tensor y = all.y + batch_norm(x, weight).y + batch_norm(x, {}, bias).y + batch_norm(x).y;
  y = y + batch_norm_with(x, mean, variance, weight, bias) + batch_norm_with(x, mean, variance, weight) +
      batch_norm_with(x, mean, variance, {}, bias) + batch_norm_with(x, mean, variance);
  Results results = with_gradients(in, y, {x, weight, bias});
  if (shape.numel() > 0) results.insert(results.end(), {all.mean, all.variance});  // else they are NaN
  return results;
}
DeviceCase batch_norm_case(const std::string& name, const Shape& shape) {
  return {name,
          {detail::Op::batch_norm, detail::Op::batch_norm_grad},
          [=](Inputs& in) { return batch_norms(in, shape); },
          1e-4};
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
      {"layer_norm_of_few_long_rows", rows, [](Inputs& in) { return layer_norms(in, 2, 16500); }, 1e-4, true},
      {"layer_norm_of_one_element", rows, [](Inputs& in) { return layer_norms(in, 30, 1); }, 1e-4},
      {"layer_norm_of_no_row", rows, [](Inputs& in) { return layer_norms(in, 0, 7); }},
      {"layer_norm_of_nothing", rows, [](Inputs& in) { return layer_norms(in, 3, 0); }},
      {"rms_norm", rows, [](Inputs& in) { return rms_norms(in, 100, 77); }, 1e-4},
      {"rms_norm_of_a_block", rows, [](Inputs& in) { return rms_norms(in, 3, 1025); }, 1e-4},
      {"rms_norm_of_few_long_rows", rows, [](Inputs& in) { return rms_norms(in, 2, 16500); }, 1e-4, true},
      // Planes that packs of elements go across, channels of several parts, and neighbouring channels.
      batch_norm_case("batch_norm", {5, 3, 7, 7}),
      batch_norm_case("batch_norm_of_parts", {9, 2, 30, 20}),
      batch_norm_case("batch_norm_of_columns", {301, 40}),
      batch_norm_case("batch_norm_of_one_column", {301, 1}),
      batch_norm_case("batch_norm_of_no_sample", {0, 3, 2}),
      batch_norm_case("batch_norm_of_no_element", {2, 3, 0}),
      batch_norm_case("batch_norm_of_no_channel", {2, 0, 3}),
      // Planes that a thread and a warp sum up, in rows of a warp and of a block.
      group_norm_case("group_norm", {3, 6, 5, 7}, 2),
      group_norm_case("group_norm_of_a_block", {2, 30, 70}, 2),
      group_norm_case("group_norm_of_elements", {9, 66}, 3),
      group_norm_case("group_norm_of_small_planes", {2, 500, 3}, 1),
      group_norm_case("group_norm_of_a_long_row", {1, 5, 900}, 1),
      // Long rows of several planes, of one plane in two chunks, and of planes that are not summed.
      group_norm_case("group_norm_of_few_long_rows", {1, 6, 5600}, 2, true),
      group_norm_case("group_norm_of_long_planes", {1, 2, 16500}, 2, true),
      group_norm_case("group_norm_of_many_small_planes", {1, 300, 60}, 1, true),
      group_norm_case("group_norm_of_no_sample", {0, 6, 2}, 2),
      group_norm_case("group_norm_of_no_element", {2, 6, 0}, 2),
  };
}

}  // namespace asyncgrad::tests
