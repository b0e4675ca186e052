// In place of backends/cuda/kernels/launch_kernel.cuh: the kernel runs on the CPU.
#pragma once

#include "tests/backends/cuda/emulator/emulator.h"

namespace asyncgrad::detail::cuda {

template <class... Parameters>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            Parameters... parameters) {
  // This function's name has the types of the parameters, which tell kernels apart.
  tests::emulator::launch(__PRETTY_FUNCTION__, blocks, threads, stream, [=] { kernel(parameters...); });
}

}  // namespace asyncgrad::detail::cuda
