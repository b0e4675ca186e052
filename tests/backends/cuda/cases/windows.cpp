// Calls of convolutions and pooling.
#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

DeviceCase conv_case(std::string name, const Shape& x, const Shape& w, const Conv2dOptions& options, bool has_bias) {
  return {"conv2d_" + std::move(name),
          {detail::Op::conv},
          [=](Inputs& in) {
            const Tensor image = in(x), weight = in(w);
            return Results{conv2d(image, weight, has_bias ? in({w[0]}) : Tensor(), options)};
          },
          1e-4};
}

}  // namespace

DeviceCases window_cases() {
  return {
      conv_case("of_tiles", {3, 5, 13, 11}, {10, 5, 3, 3}, {.padding = 1}, true),
      conv_case("strided", {2, 6, 12, 9}, {9, 6, 5, 3}, {.stride = {2, 3}, .padding = {2, 1}, .dilation = {1, 2}},
                false),
      conv_case("of_groups", {2, 12, 9, 7}, {27, 4, 3, 6}, {.padding = {0, 3}, .groups = 3}, true),
      conv_case("of_points", {3, 20, 8, 9}, {12, 20, 1, 1}, {}, true),
      conv_case("of_few_points", {3, 20, 3, 2}, {12, 20, 1, 1}, {}, false),
      conv_case("of_one_pixel", {9, 3, 4, 4}, {10, 3, 4, 4}, {}, true),
      conv_case("direct", {3, 4, 11, 9}, {6, 4, 3, 5}, {.stride = {1, 2}, .padding = {1, 4}, .dilation = {3, 1}}, true),
      conv_case("depthwise", {2, 12, 10, 9}, {12, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = 12}, true),
      conv_case("of_depth_multiples", {2, 6, 7, 6}, {30, 1, 2, 3}, {.groups = 6}, false),
      conv_case("of_no_images", {0, 5, 13, 11}, {10, 5, 3, 3}, {}, true),
  };
}

}  // namespace asyncgrad::tests
