// Calls of convolutions and pooling.
#include <cmath>

#include "tests/backends/cuda/device_cases.h"

namespace asyncgrad::tests {

namespace {

using detail::Op;

// Results of parameters x, w and, if it has one, the bias.
template <class Function>
DeviceCase conv_case(std::string name, const Shape& x, const Shape& w, std::int64_t bias, Function function) {
  return {std::move(name),
          {Op::conv, Op::conv_input, Op::conv_weight},
          [=](Inputs& in) {
            std::vector<Tensor> parameters{in.parameter(x), in.parameter(w)};
            if (bias > 0) parameters.push_back(in.parameter({bias}));
            const Tensor y = function(parameters[0], parameters[1], bias > 0 ? parameters[2] : Tensor());
            return with_gradients(in, y, parameters);
          },
          1e-4};
}

DeviceCase conv2d_case(const std::string& name, const Shape& x, const Shape& w, bool has_bias,
                       const Conv2dOptions& options = {}) {
  return conv_case("conv2d_" + name, x, w, has_bias ? w[0] : 0,
                   [=](const Tensor& image, const Tensor& weight, const Tensor& bias) {
                     return conv2d(image, weight, bias, options);
                   });
}
DeviceCase transposed_case(const std::string& name, const Shape& x, const Shape& w, bool has_bias,
                           const ConvTranspose2dOptions& options) {
  return conv_case("conv_transpose2d_" + name, x, w, has_bias ? w[1] * options.groups : 0,
                   [=](const Tensor& image, const Tensor& weight, const Tensor& bias) {
                     return conv_transpose2d(image, weight, bias, options);
                   });
}

// Of so many elements for each pixel that their matrices do not fit into one tile, which begins within an image.
Results conv_of_many_tiles(Inputs& in) {
  const Tensor x = in.parameter({2, 2048, 18, 20}, 0, 1), w = in.parameter({1, 2048, 16, 16}, 0, 1);
  return with_gradients(in, conv2d(x, w), {x, w});
}
// The same of images of several tiles, whose outputs read overlapping rows, or leave rows out.
Results conv_of_large_planes(Inputs& in, std::int64_t stride) {
  const std::int64_t images = stride == 1 ? 2 : 1, height = 4 * stride + 2;  // 5 rows of 8 outputs
  const Tensor x = in.parameter({images, 8192, height, 12}, 0, 1), w = in.parameter({1, 8192, 4, 9}, 0, 1);
  return with_gradients(in, conv2d(x, w, Tensor(), {.stride = {stride, 1}, .padding = {1, 2}}), {x, w});
}
// In float64 the images do not fit into one tile, and two of them do.
Results conv_of_many_images(Inputs& in) {
  const Tensor x = in.parameter({3, 192, 23, 23}, 0, 1), w = in.parameter({2, 192, 16, 16}, 0, 1);
  const Tensor bias = in.parameter({2});
  return with_gradients(in, conv2d(x, w, bias), {x, w, bias});
}

DeviceCase max_pool_case(const std::string& name, const Shape& x, Size2d kernel, const PoolOptions& options) {
  return {"max_pool2d_" + name, {Op::max_pool, Op::max_pool_grad}, with_parameter(x, [=](const Tensor& planes) {
            return max_pool2d(planes, kernel, options);
          })};
}
DeviceCase avg_pool_case(const std::string& name, const Shape& x, Size2d kernel, const PoolOptions& options) {
  return {"avg_pool2d_" + name, {Op::avg_pool, Op::avg_pool_grad}, with_parameter(x, [=](const Tensor& planes) {
            return avg_pool2d(planes, kernel, options);
          })};
}

// Of equal elements and of NaN, of which one is chosen.
Results max_pool_of_equals(Inputs& in, std::int64_t edge) {
  const Shape shape{2, 2, 3 * edge, 3 * edge};
  const Tensor x = parameter(where(in.integers(shape, edge * edge) == 0, std::nan(""), floor(in(shape))));
  const Tensor y = max_pool2d(x, edge, {.stride = edge - 1, .padding = 1});
  sum(where(isnan(y), 1, y) * in(y.shape())).backward();
  return {isnan(y), where(isnan(y), 0, y), x.grad()};
}

}  // namespace

DeviceCases window_cases() {
  const Conv2dOptions uneven{.stride = {2, 3}, .padding = {2, 1}, .dilation = {1, 2}};
  return {
      conv2d_case("of_tiles", {3, 15, 7, 9}, {10, 15, 3, 3}, true, {.padding = 1}),
      conv2d_case("uneven", {2, 10, 12, 9}, {9, 10, 5, 3}, false, uneven),
      conv2d_case("of_even_tiles", {3, 15, 6, 8}, {10, 15, 3, 3}, true, {.padding = 1}),
      conv2d_case("of_images", {3, 15, 8, 9}, {10, 15, 3, 3}, true, {.padding = 1}),
      conv2d_case("of_uneven_images", {2, 10, 19, 20}, {9, 10, 5, 6}, false,
                  {.stride = 2, .padding = 2, .dilation = {1, 2}}),
      conv2d_case("of_even_groups", {2, 20, 8, 9}, {18, 10, 3, 3}, true, {.padding = 1, .groups = 2}),
      conv2d_case("of_groups", {2, 30, 7, 5}, {27, 10, 3, 6}, true, {.padding = {0, 3}, .groups = 3}),
      conv2d_case("of_points", {3, 20, 8, 9}, {12, 20, 1, 1}, true),
      conv2d_case("of_few_points", {3, 20, 3, 2}, {12, 20, 1, 1}, false),
      conv2d_case("of_strided_points", {3, 20, 9, 20}, {12, 20, 1, 1}, true, {.stride = 2}),
      conv2d_case("of_one_pixel", {9, 12, 4, 4}, {10, 12, 4, 4}, true),
      conv2d_case("in_parts", {11, 9, 6, 5}, {10, 9, 3, 3}, false),
      conv2d_case("in_pieces", {2, 9, 25, 31}, {10, 9, 3, 3}, true, {.padding = 1}),
      conv2d_case("of_groups_in_pieces", {1, 20, 30, 41}, {18, 10, 1, 2}, false, {.groups = 2}),
      conv2d_case("of_long_sums", {2, 30, 8, 9}, {2, 30, 3, 3}, true, {.padding = 1}),
      conv2d_case("direct", {9, 4, 11, 9}, {6, 4, 3, 5}, true,
                  {.stride = {1, 2}, .padding = {1, 4}, .dilation = {3, 1}}),
      conv2d_case("direct_in_chunks", {1, 2, 70, 66}, {3, 2, 3, 3}, false, {.padding = 1}),
      conv2d_case("depthwise", {2, 12, 10, 9}, {12, 1, 3, 3}, true, {.stride = 2, .padding = 1, .groups = 12}),
      conv2d_case("depthwise_multiplied", {2, 6, 7, 6}, {30, 1, 2, 3}, false, {.groups = 6}),
      conv2d_case("of_no_images", {0, 15, 7, 9}, {10, 15, 3, 3}, true),
      conv2d_case("direct_of_no_images", {0, 3, 7, 9}, {4, 3, 3, 3}, true),
      {"conv2d_of_many_tiles", {Op::conv, Op::conv_input, Op::conv_weight}, conv_of_many_tiles, 1e-4, true},
      {"conv2d_of_large_planes",
       {Op::conv, Op::conv_input, Op::conv_weight},
       [](Inputs& in) { return conv_of_large_planes(in, 1); },
       1e-4,
       true},
      {"conv2d_of_large_planes_with_gaps",
       {Op::conv, Op::conv_input, Op::conv_weight},
       [](Inputs& in) { return conv_of_large_planes(in, 5); },
       1e-4,
       true},
      {"conv2d_of_many_images", {Op::conv, Op::conv_input, Op::conv_weight}, conv_of_many_images, 1e-4, true},
      conv_case("conv1d", {3, 12, 40}, {10, 12, 5}, 10,
                [](const Tensor& x, const Tensor& w, const Tensor& bias) {
                  return conv1d(x, w, bias, {.stride = 2, .padding = 3});
                }),
      transposed_case("of_tiles", {2, 10, 5, 6}, {10, 11, 3, 4}, true,
                      {.stride = 2, .padding = 1, .output_padding = 1}),
      transposed_case("of_images", {2, 10, 8, 9}, {10, 11, 3, 4}, true, {.stride = 2, .padding = 1}),
      transposed_case("of_gaps", {2, 10, 3, 4}, {10, 11, 2, 2}, true, {.stride = 3, .output_padding = 2}),
      transposed_case("of_points", {2, 12, 8, 9}, {12, 10, 1, 1}, true, {}),
      transposed_case("of_points_with_more_at_the_end", {2, 12, 8, 9}, {12, 10, 1, 1}, true,
                      {.output_padding = 1, .dilation = 2}),
      conv2d_case("of_no_rows", {2, 12, 0, 70}, {12, 12, 1, 1}, true, {.padding = 1}),
      transposed_case("direct", {2, 6, 5, 6}, {6, 2, 3, 3}, true, {.stride = {2, 1}, .dilation = {1, 2}, .groups = 2}),
      max_pool_case("halves", {3, 5, 12, 14}, 2, {}),
      max_pool_case("overlaps", {2, 3, 13, 11}, {3, 5}, {.stride = {1, 2}, .padding = {1, 2}}),
      max_pool_case("with_gaps", {2, 3, 13, 11}, {2, 3}, {.stride = {4, 5}}),
      max_pool_case("all", {2, 40, 7, 5}, {7, 5}, {}),
      max_pool_case("of_large_planes", {1, 2, 44, 47}, {34, 40}, {.stride = 7, .padding = {17, 20}}),
      max_pool_case("of_no_images", {0, 3, 8, 8}, 2, {}),
      {"max_pool2d_of_equals", {Op::max_pool, Op::max_pool_grad}, [](Inputs& in) { return max_pool_of_equals(in, 3); }},
      {"max_pool2d_of_many_equals",
       {Op::max_pool, Op::max_pool_grad},
       [](Inputs& in) { return max_pool_of_equals(in, 7); }},
      {"max_pool2d_of_constants",
       {Op::max_pool},
       [](Inputs& in) {
         return Results{max_pool2d(in({2, 3, 9, 8}), 3)};
       }},
      avg_pool_case("halves", {3, 5, 12, 14}, 2, {}),
      avg_pool_case("overlaps", {2, 3, 13, 11}, {3, 5}, {.stride = {1, 2}, .padding = {1, 2}}),
      avg_pool_case("with_gaps", {2, 3, 13, 11}, {2, 3}, {.stride = {4, 5}}),
      avg_pool_case("all", {2, 40, 7, 5}, {7, 5}, {}),
      avg_pool_case("of_large_planes", {1, 2, 44, 47}, {34, 40}, {.stride = 7, .padding = {17, 20}}),
      avg_pool_case("of_no_images", {0, 3, 8, 8}, 2, {}),
  };
}

}  // namespace asyncgrad::tests
