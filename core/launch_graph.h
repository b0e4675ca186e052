// A part of a program that runs again and again, such as a training step, given to a GPU in one piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace asyncgrad {

namespace detail {
struct LaunchGraphState;
struct LaunchRegion;
}  // namespace detail

// Launching a small operation takes the host longer than computing it takes the GPU. A graph saves these launches:
//
//   ag::LaunchGraph step("training step");
//   for (…) step([&] { …the loop's body… });
//
// The body runs at every call and queues its operations as it does without a graph, so results have the same bits, and
// memory, random numbers, gradients and errors are the same. But if the operations of a call are those of an earlier
// call, with the same shapes and types, a GPU gets them in one launch of a CUDA graph. Up to half of them may write
// their results elsewhere than before or have other numbers, such as a learning rate: these are changed in the graph,
// each in about the time of a launch. The first call is recorded, the second makes the graph, and later calls launch
// it. On the CPU a call runs the body and nothing else.
//
// A wait within the body (item(), to_vector(), printing) and a copy to or from another device cut what it queues into
// two graphs. A GPU starts a graph when the body has returned or is cut, or when any thread waits. The body should
// therefore be the step that is repeated, not the whole loop. No graphs are used while a profile is recorded.
//
// Errors of operations that the body queues name the graph. A call does not block unless the body does. Any thread may
// call a graph; threads that queue operations for the same GPU at the same time cut each other's calls into pieces.
class LaunchGraph {
 public:
  explicit LaunchGraph(std::string name);  // for errors and profiles
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  // Does not block; operations that calls have queued are still computed.
  ~LaunchGraph();

  // Runs body(), and returns and throws what it does. Throws Error inside another call, of this graph or another.
  template <class Body>
  decltype(auto) operator()(Body&& body) {
    const Call call(*this);
    return std::forward<Body>(body)();
  }

  const std::string& name() const;
  // The number of calls so far.
  std::int64_t calls() const;
  // The number of launches of graphs that GPUs have got for these calls so far. Ideally each call from the third on is
  // one launch; the number may lag behind the calls.
  std::int64_t replays() const;

 private:
  // While it lives, operations that the calling thread queues belong to the graph.
  class Call {
   public:
    explicit Call(LaunchGraph& graph);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call();

   private:
    const std::shared_ptr<detail::LaunchRegion> region_;
  };

  const std::shared_ptr<detail::LaunchGraphState> state_;
};

}  // namespace asyncgrad
