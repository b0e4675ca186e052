// The launch graphs of a queue, and the decision which of their calls become one launch. Internal.
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

// A sequence is the operations of a graph between two points at which all of them must be in the stream. A take is a
// sequence that is remembered. When a sequence comes for the first time it becomes a take; when it comes again the take
// becomes a CUDA graph; from then on the sequence is kept back and launched as that graph. Two sequences of the same
// kernels, shapes and types count as the same if at most half of the operations have other addresses or numbers than
// before; these operations are captured again, one by one. A graph has several takes, because memory may alternate
// between addresses, and because a call may consist of several sequences.
//
// A sequence is kept back as long as it agrees with some take that is a CUDA graph. If it then differs, ends early, or
// has too many changes, its operations are launched one by one in their order, and later ones as they come. The same
// happens if CUDA refuses to make or launch a graph; after some refusals the take is never tried again.
//
// The launch thread calls all functions, with its device set.
class LaunchGraphs {
 public:
  // Launches go to the stream of `launch`.
  LaunchGraphs(Gpu& gpu, const Launch& launch) : gpu_(gpu), launch_(launch) {}

  // Ends the sequence. Later operations belong to that graph, or to none if it is null. Throws DeviceFailed.
  void set_graph(std::shared_ptr<LaunchGraphState> state);
  bool has_graph() const { return state_ != nullptr; }
  // Adds the next operation of the sequence. Throws Error if it is refused, and DeviceFailed.
  void issue(const Kernel& kernel, const KernelCall& call);
  // Puts all operations so far into the stream. Throws DeviceFailed.
  void end_sequence();

 private:
  struct Take {
    std::vector<LateCall> calls;
    std::unique_ptr<ExecutableGraph> executable;  // of these calls; null if they came once only, or CUDA has refused
    int refusals = 0;
  };
  using TakePointer = std::unique_ptr<Take>;
  struct Graph {
    std::weak_ptr<LaunchGraphState> state;
    std::vector<TakePointer> takes;  // the most recent one is first
  };

  void launch_one_by_one();
  Take* nearest_take(bool is_executable) const;
  bool launch_at_once(Take& take);
  void remember();
  void make_executable(Take& take);
  void move_to_front(const Take& take);

  Gpu& gpu_;
  const Launch& launch_;
  std::optional<MadeStream> capture_stream_;  // made at its first use
  std::optional<Launch> capturing_;           // on it
  std::vector<Graph> graphs_;
  std::shared_ptr<LaunchGraphState> state_;  // of the calls to come; null for none
  std::vector<TakePointer>* takes_ = nullptr;

  // The sequence.
  std::vector<LateCall> calls_;
  std::vector<Take*> candidates_;  // the takes with which the sequence agrees so far
  bool is_kept_ = false;           // true while none of it is launched
};

}  // namespace asyncgrad::detail::cuda
