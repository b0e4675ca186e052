// A layer as a user writes one.
#pragma once

#include "asyncgrad/asyncgrad.h"

struct Scale {
  asyncgrad::Tensor weight = asyncgrad::parameter(asyncgrad::ones({1}));
  asyncgrad::Tensor operator()(const asyncgrad::Tensor& x) const { return x * weight; }
  void members(asyncgrad::nn::Members& m) { m("weight", weight); }
};
