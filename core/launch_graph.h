// A part of a program that is run again and again, a training step say, which a GPU gets in one piece.
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

// To launch an operation takes the host longer than a small one takes the GPU. A graph is for that:
//
//   ag::LaunchGraph step("training step");
//   for (…) step([&] { …the loop's body… });
//
// The body runs at every call and queues its operations as without, so that results are the same bits, and memory,
// random numbers, gradients and errors are what they are without. But when the operations of a call are those of an
// earlier one, with the same shapes and types, a GPU gets them in one launch of a CUDA graph. At most half of them may
// have results elsewhere or other numbers, a learning rate say, than before: these are changed in the graph, each in
// about the time of a launch. The first call is watched, the second makes the graph, from the third on it is launched.
// On the CPU a call runs the body and nothing else.
//
// A wait within the body (item(), to_vector(), printing) and a copy to or from another device cut what it queues into
// two graphs. A GPU begins with a graph when the body has returned or is cut, or when anybody waits: so a body is a
// step that is repeated, not the whole loop. No graphs are used while a profile is recorded.
//
// Errors of operations that the body queues name the graph. Does not block, but for what the body does. Any thread may
// call a graph; threads that queue operations for the same GPU at the same time cut each other's calls into pieces.
class LaunchGraph {
 public:
  explicit LaunchGraph(std::string name);  // for errors and profiles
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  // What is queued is finished all the same.
  ~LaunchGraph();

  // Runs body(), and returns and throws what it does. Throws Error within another call, be it this graph's.
  template <class Body>
  decltype(auto) operator()(Body&& body) {
    const Call call(*this);
    return std::forward<Body>(body)();
  }

  const std::string& name() const;
  // How often it was called, and how many launches of graphs GPUs got for that so far, which may be behind: one for
  // each call, if all is well.
  std::int64_t calls() const;
  std::int64_t replays() const;

 private:
  // While it lives, what the calling thread queues belongs to the graph.
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
