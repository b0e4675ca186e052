// The launch of every kernel. Internal.
#pragma once

#include <cuda_runtime_api.h>

namespace asyncgrad::detail::cuda {

// Puts a kernel on a stream, in `blocks` blocks of `threads` threads. What is refused is left for take_last_error().
template <class... Parameters>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            Parameters... parameters) {
  kernel<<<blocks, threads, 0, stream>>>(parameters...);
}

}  // namespace asyncgrad::detail::cuda
