// The launch graphs of a queue: which calls of them are one launch. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "asyncgrad/backends/cuda/executable_graph.h"
#include "asyncgrad/backends/cuda/gpu.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "asyncgrad/core/backend/late_call.h"
#include "asyncgrad/core/origin/launch_region.h"

namespace asyncgrad::detail::cuda {

// A graph's operations between two places where all of them must be in the stream are a sequence. Each sequence that
// comes is a take: kept in mind when it comes for the first time, made a CUDA graph when it has come for the second
// time, kept back and launched as that from then on. Two sequences of the same kernels, shapes and types are the same
// if at most half of the operations have other addresses or numbers than before: these are captured anew, one by one.
// A graph has several takes, as memory may go to and fro between some addresses, and calls consist of several
// sequences.
//
// A sequence is kept back as long as it goes like some take that is a CUDA graph. If it goes on in another way, or ends
// before, or too much of it is new, its operations are launched one by one in their order, and the rest at once. So
// they are if CUDA refuses to make a graph or to launch it, for ever after some times.
//
// The launch thread calls all functions, with its device set.
class LaunchGraphs {
 public:
  // Launches go to the stream of `launch`.
  LaunchGraphs(Gpu& gpu, const Launch& launch) : gpu_(gpu), launch_(launch) {}

  // Ends the sequence; what comes belongs to that graph, or to none. Throws DeviceFailed.
  void set_graph(std::shared_ptr<LaunchGraphState> state);
  bool has_graph() const { return state_ != nullptr; }
  // The next operation of the sequence. Throws Error if it is refused, and DeviceFailed.
  void issue(const Kernel& kernel, const KernelCall& call);
  // All operations so far are in the stream then. Throws DeviceFailed.
  void end_sequence();

 private:
  struct Take {
    std::vector<LateCall> calls;
    std::unique_ptr<ExecutableGraph> executable;  // of these; null: it has come once, or CUDA has refused
    int refusals = 0;
  };
  using TakePointer = std::unique_ptr<Take>;
  struct Graph {
    std::weak_ptr<LaunchGraphState> state;
    std::vector<TakePointer> takes;  // the last one that came first
  };

  void launch_one_by_one();
  Take* nearest_take(bool is_executable) const;
  bool launch_at_once(Take& take);
  void remember();
  void make_executable(Take& take);
  void move_to_front(const Take& take);

  Gpu& gpu_;
  const Launch& launch_;
  std::optional<MadeStream> capture_stream_;  // from its first use on
  std::optional<Launch> capturing_;           // on it
  std::vector<Graph> graphs_;
  std::shared_ptr<LaunchGraphState> state_;  // of the calls that come; null: none
  std::vector<TakePointer>* takes_ = nullptr;

  // The sequence.
  std::vector<LateCall> calls_;
  std::vector<Take*> candidates_;  // that it goes like so far
  bool is_kept_ = false;           // none of it is launched yet
};

}  // namespace asyncgrad::detail::cuda
