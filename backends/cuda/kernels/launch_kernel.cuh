// The launch of every kernel. Internal.
#pragma once

#include <cuda_runtime_api.h>

namespace asyncgrad::detail::cuda {

// Puts a kernel on a stream, in `blocks` blocks of `threads` threads. What is refused is left for take_last_error(), and
// nothing is launched behind it: that would read what the first was to write.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            Parameters... parameters) {
  if (cudaPeekAtLastError() != cudaSuccess) return;
  kernel<<<blocks, threads, 0, stream>>>(parameters...);
}

}  // namespace asyncgrad::detail::cuda
