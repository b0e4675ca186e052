// Adds up the partial sums of chunks. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail::cuda {

// out (elements) = the sum of sums (chunks, elements) over the chunks, in their order
template <class T>
struct AddChunks {
  T* out;
  const T* sums;
  std::int64_t elements, chunks;

  __device__ void operator()(std::int64_t i) const {
    T sum = sums[i];
    for (std::int64_t chunk = 1; chunk < chunks; ++chunk) sum += sums[chunk * elements + i];
    out[i] = sum;
  }
};

}  // namespace asyncgrad::detail::cuda
