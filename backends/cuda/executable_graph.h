// A sequence of operations that is given to a GPU in one launch. Internal.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "asyncgrad/backends/cuda/gpu.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "asyncgrad/core/backend/late_call.h"

namespace asyncgrad::detail::cuda {

using MadeGraph = Made<cudaGraph_t, &Api::create_graph, &Api::destroy_graph>;

// Runs a kernel's call, which puts it on the launch's stream. Throws Error if it is refused.
void run(Gpu& gpu, const Kernel& kernel, KernelCall call, const Launch& launch);

// A CUDA graph with one child graph for each operation, one after another, so that each can be changed alone.
//
// Captured operations do not run; earlier runs of their kernels have loaded all that they need. While they are
// captured, kernels only launch: they neither allocate nor wait, and use no host memory. The capture is relaxed: it
// ignores what other threads do meanwhile.
//
// The launch thread calls all functions, with its device set. All but the destructor throw DeviceFailed, and Error if
// CUDA refuses; after an exception the graph can only be destroyed.
class ExecutableGraph {
 public:
  // `capturing` has a stream that serves nothing else.
  ExecutableGraph(Gpu& gpu, const Launch& capturing, std::span<const LateCall> calls);
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;
  // The graph may be running: CUDA frees it when it is complete.
  ~ExecutableGraph();

  // Replaces the `index`-th operation by this one, which has other attributes, from the next launch on.
  void set(std::size_t index, const LateCall& call);
  void launch(cudaStream_t stream);

 private:
  Gpu& gpu_;
  const Launch& capturing_;
  MadeGraph graph_;                     // the owner of the nodes
  std::vector<cudaGraphNode_t> nodes_;  // one for each operation; null if it launches nothing
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace asyncgrad::detail::cuda
