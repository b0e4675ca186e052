// A sequence of operations that a GPU gets in one launch. Internal.
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

// A CUDA graph in which each operation is a child, one after another: so one of them can be changed alone.
//
// What is captured does not run, and runs of its kernels before have loaded all that they need. Kernels that are
// captured do nothing but launch: they neither allocate nor wait, and host memory is no part of operations on the
// device. The capture is relaxed: what other threads do meanwhile is no concern of it.
//
// The launch thread calls all functions, with its device set. All but the destructor throw Error if CUDA refuses, after
// which the graph is good for nothing but its end, and DeviceFailed.
class ExecutableGraph {
 public:
  // `capturing`: on a stream for nothing else.
  ExecutableGraph(Gpu& gpu, const Launch& capturing, std::span<const LateCall> calls);
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;
  // May be under way: CUDA frees it when it is complete.
  ~ExecutableGraph();

  // From the next launch on the `index`-th operation is this one, which has other attributes.
  void set(std::size_t index, const LateCall& call);
  void launch(cudaStream_t stream);

 private:
  Gpu& gpu_;
  const Launch& capturing_;
  MadeGraph graph_;                     // of which the nodes are
  std::vector<cudaGraphNode_t> nodes_;  // of each operation; null: it launches nothing
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace asyncgrad::detail::cuda
