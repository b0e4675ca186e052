// What a kernel of this backend gets beside its call. Internal.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "asyncgrad/core/backend/kernels.h"

namespace asyncgrad::detail::cuda {

class Planner;  // of products
class Queue;

// Of the queue that an operation is issued to. Its device is the calling thread's.
struct Launch {
  cudaStream_t stream;
  Queue* queue;
  std::shared_ptr<Planner>& planner;  // the queue's, made by the first product
};

inline cudaStream_t stream_of(const KernelCall& call) { return static_cast<const Launch*>(call.launch)->stream; }

}  // namespace asyncgrad::detail::cuda
