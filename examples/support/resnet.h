// The residual network ResNet-18 of He et al. 2016, "Deep residual learning for image recognition".
#pragma once

#include <cstdint>

#include "asyncgrad/asyncgrad.h"

namespace resnet {

// `width`: channels of the first stage; each other stage has twice as many as the one before it.
struct Sizes {
  std::int64_t channels = 3, width = 64, classes = 10;
};

// Images (N, channels, H, W) -> scores (N, classes), for H and W from 32 on.
asyncgrad::nn::Sequential resnet18(const Sizes& sizes);

}  // namespace resnet
