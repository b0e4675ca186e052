// Layers for images beside those of PyTorch: references/conv.py.
#include <gtest/gtest.h>

#include "tests/nn/references/references.h"

namespace asyncgrad::nn {
namespace {

using tests::expect_near;

const Tensor& reference(const std::string& name) {
  static const std::map<std::string, Tensor> tensors = tests::references("conv.safetensors");
  return tensors.at(name);
}

template <class Layer>
void check_call(const std::string& name, const Layer& layer) {
  for (Tensor leaf : parameters(layer)) leaf.zero_grad();
  const Tensor x = parameter(reference(name.substr(0, name.find('/')) + "/x").clone()), y = layer(x);
  expect_near(y, reference(name + "/y"));
  y.backward(reference(name + "/dy"));
  expect_near(x.grad(), reference(name + "/grad of x"));
  for (const auto& [path, tensor] : state(layer)) {
    SCOPED_TRACE(path);
    expect_near(tensor, reference(name + "/after/" + path));
    if (tensor.requires_grad()) expect_near(tensor.grad(), reference(name + "/grad/" + path));
  }
}

// Gives the layer PyTorch's values, and compares results, gradients and members in training, then in evaluation.
template <class Layer>
void check(const std::string& name, const Layer& layer) {
  SCOPED_TRACE(name);
  {
    const NoGrad no_grad;
    for (auto& [path, tensor] : state(layer)) tensor.copy_(reference(name + "/state/" + path));
  }
  check_call(name + "/training", layer);
  const Evaluation evaluation;
  check_call(name + "/evaluation", layer);
}

TEST(ConvReferences, Conv2d) {
  check("conv2d", Conv2d(3, 4, {3, 2}, nullptr, {.dtype = float64}));
  check("conv2d_options",
        Conv2d(4, 6, 3, nullptr,
               {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2, .dtype = float64}));
  check("conv2d_depthwise", Conv2d(3, 6, 3, nullptr, {.padding = 1, .groups = 3, .bias = false, .dtype = float64}));
}

TEST(ConvReferences, Conv1d) {
  check("conv1d", Conv1d(2, 3, 3, nullptr, {.stride = 2, .padding = 1, .dtype = float64}));
}

TEST(ConvReferences, ConvTranspose) {
  check("conv_transpose2d", ConvTranspose2d(3, 4, {3, 2}, nullptr, {.dtype = float64}));
  check("conv_transpose2d_options", ConvTranspose2d(4, 6, 3, nullptr,
                                                    {.stride = {2, 3},
                                                     .padding = {1, 2},
                                                     .output_padding = {1, 0},
                                                     .dilation = {1, 2},
                                                     .groups = 2,
                                                     .dtype = float64}));
  check("conv_transpose1d",
        ConvTranspose1d(2, 3, 3, nullptr, {.stride = 2, .padding = 1, .bias = false, .dtype = float64}));
}

TEST(ConvReferences, Pooling) {
  check("max_pool2d", MaxPool2d(3, {.stride = 2, .padding = 1}));
  check("max_pool2d_of_two", MaxPool2d(2));
  check("avg_pool2d", AvgPool2d({3, 2}, {.stride = 2, .padding = 1}));
  check("global_avg_pool2d", GlobalAvgPool2d());
}

TEST(ConvReferences, BatchNorm) {
  check("batch_norm", BatchNorm(3, {.dtype = float64}));
  check("batch_norm_of_rows", BatchNorm(5, {.epsilon = 1e-3, .momentum = 0.3, .dtype = float64}));
  check("batch_norm_plain", BatchNorm(2, {.affine = false, .dtype = float64}));
}

TEST(ConvReferences, GroupNorm) {
  check("group_norm", GroupNorm(2, 6, {.dtype = float64}));
  check("group_norm_of_rows", GroupNorm(3, 12, {.epsilon = 1e-3, .dtype = float64}));
  check("group_norm_plain", GroupNorm(1, 3, {.affine = false, .dtype = float64}));
}

}  // namespace
}  // namespace asyncgrad::nn
