// The argument that a kernel of this backend gets in addition to its call. Internal.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

class Planner;  // of products
class Queue;

// Describes the queue to which an operation is issued. Its device is the calling thread's.
struct Launch {
  cudaStream_t stream;
  Queue* queue;
  std::shared_ptr<Planner>& planner;  // belongs to the queue; the first product makes it
};

inline cudaStream_t stream_of(const KernelCall& call) { return static_cast<const Launch*>(call.launch)->stream; }

}  // namespace asyncgrad::detail::cuda
