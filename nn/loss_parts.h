// What the losses share: the label in its shape and type, and what becomes of the losses of all elements. Internal.
#pragma once

#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/losses.h"

namespace asyncgrad::nn::losses_detail {

// The label in `shape`; queues nothing.
Tensor shaped(const Arg& label, const Shape& shape);

// Throws Error, which names the loss and both operands, unless x and y are of one type; y is to be converted.
void check_types(const char* loss, const char* x_name, const Arg& x, const char* y_name, const Arg& y);
// The same for a weight of the losses, an option that may be undefined.
void check_type_of(const char* loss, const char* x_name, const Arg& x, const char* option, const Tensor& weight);

// Losses, and what becomes of them.
class Losses {
 public:
  // What is queued for them has the line `where`.
  Losses(Tensor values, Location where);

  // Means are divided by the sum of these, which are broadcast, in place of the number of losses.
  void count(const Tensor& counts);
  Tensor reduced(Reduction reduction) const;

 private:
  Arg at(const Tensor& tensor) const { return {tensor, where_}; }
  Tensor divided(const Tensor& total, const Tensor& count) const;
  Tensor of_samples(const Tensor& x, bool is_mean) const;

  Tensor values_, counts_;
  Location where_;
};

}  // namespace asyncgrad::nn::losses_detail
