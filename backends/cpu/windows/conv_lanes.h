// The products of convolutions whose vectors go along groups (conv_depthwise.cpp). Internal.
//
// As many groups as a vector has lanes are computed at once: an element of x, w or out is a vector, of which each lane
// belongs to one group. Offsets count elements of T.
#pragma once

#include <cstdint>

#include "asyncgrad/backends/cpu/dispatch.h"

namespace asyncgrad::detail {

// An element of the kernel: where it lies in w, and how far away from an output's first element it reads x.
struct LaneTap {
  std::int64_t x, w;
};
// An output: where it lies in out, and its first element in x.
struct LanePixel {
  std::int64_t x, out;
};

struct LaneProduct {
  const LaneTap* taps;
  std::int64_t tap_count;
  const LanePixel* pixels;
  std::int64_t pixel_count;
};

template <class T>
struct ConvLanes {
  std::int64_t lanes;  // of a vector
  // out[pixel] = initial + the sum over the taps of x[pixel + tap] w[tap], one chain in their order.
  void (*outputs)(const LaneProduct& product, const T* x, const T* w, const T* initial, T* out);
  // w[tap] += the sum over the pixels of x[pixel + tap] out[pixel], one chain in their order.
  void (*weight)(const LaneProduct& product, const T* x, T* w, const T* out);
};

// The functions for the best instruction set that this processor has.
const FloatingLoops<ConvLanes>& conv_lanes();

}  // namespace asyncgrad::detail
