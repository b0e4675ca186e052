// A function that a host program loads. The host program itself does not use asyncgrad.
#include "asyncgrad/asyncgrad.h"

extern "C" double sum_of_squares(int count) {
  const asyncgrad::Tensor x = asyncgrad::arange(0, count, 1, {.dtype = asyncgrad::DType::float64});
  return asyncgrad::sum(x * x).item();
}
