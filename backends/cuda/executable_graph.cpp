#include "asyncgrad/backends/cuda/executable_graph.h"

#include <mutex>

#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

// The graph of what an operation puts on a stream, captured in place of running it.
class Captured {
 public:
  Captured(Gpu& gpu, const Launch& capturing, const LateCall& call) : Captured(gpu) {
    const std::lock_guard lock(gpu.captures());
    gpu.check(cudaSuccess);  // what is begun ends
    gpu.check_refusable(gpu.api().begin_capture(capturing.stream));
    try {
      run(gpu, call.kernel(), call.call(), capturing);
    } catch (...) {
      gpu.api().end_capture(capturing.stream, &graph_);  // the first error is reported
      throw;
    }
    gpu.check_refusable(gpu.api().end_capture(capturing.stream, &graph_));
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    if (graph_ != nullptr) gpu_.note(gpu_.api().destroy_graph(graph_));
  }

  cudaGraph_t get() const { return graph_; }
  bool is_empty() const {
    std::size_t count = 0;
    gpu_.check_refusable(gpu_.api().get_node_count(graph_, &count));
    return count == 0;
  }

 private:
  explicit Captured(Gpu& gpu) : gpu_(gpu) {}  // complete from here on, so that it is destroyed if anything fails

  Gpu& gpu_;
  cudaGraph_t graph_ = nullptr;
};

cudaError_t last_error(Gpu& gpu) {
  const cudaError_t left = gpu.api().take_last_error();
  return left == cudaErrorNotReady ? cudaSuccess : left;  // an answer to a question of the program's function
}

}  // namespace

void run(Gpu& gpu, const Kernel& kernel, KernelCall call, const Launch& launch) {
  call.launch = &launch;
  try {
    kernel.run(call, 0);
  } catch (...) {
    const cudaError_t left = last_error(gpu);  // which is no error of the next operation
    if (!is_refusal(left)) gpu.note(left);
    throw;
  }
  gpu.check_refusable(last_error(gpu));
}

ExecutableGraph::ExecutableGraph(Gpu& gpu, const Launch& capturing, std::span<const LateCall> calls)
    : gpu_(gpu), capturing_(capturing), graph_(gpu, &Gpu::check_refusable), nodes_(calls.size()) {
  cudaGraphNode_t last = nullptr;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Captured captured(gpu, capturing, calls[i]);
    if (captured.is_empty()) continue;
    gpu.check_refusable(gpu.api().add_child_graph(&nodes_[i], graph_.get(), last, captured.get()));
    last = nodes_[i];
  }
  gpu.check(cudaSuccess);  // what is made is destroyed
  gpu.check_refusable(gpu.api().instantiate_graph(&executable_, graph_.get()));
}

ExecutableGraph::~ExecutableGraph() { gpu_.note(gpu_.api().destroy_executable_graph(executable_)); }

void ExecutableGraph::set(std::size_t index, const LateCall& call) {
  const Captured captured(gpu_, capturing_, call);
  if (captured.is_empty() != (nodes_[index] == nullptr)) throw Error("another number of launches");
  if (nodes_[index] == nullptr) return;
  gpu_.check_refusable(gpu_.api().set_child_graph(executable_, nodes_[index], captured.get()));
}

void ExecutableGraph::launch(cudaStream_t stream) {
  gpu_.check_refusable(gpu_.api().launch_graph(executable_, stream));
}

}  // namespace asyncgrad::detail::cuda
