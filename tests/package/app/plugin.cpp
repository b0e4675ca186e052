// A function that a host program loads, which knows nothing of asyncgrad.
#include "asyncgrad/asyncgrad.h"

extern "C" double sum_of_squares(int count) {
  const asyncgrad::Tensor x = asyncgrad::arange(0, count, 1, {.dtype = asyncgrad::DType::float64});
  return asyncgrad::sum(x * x).item();
}
