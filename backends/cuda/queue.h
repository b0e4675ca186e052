// A queue of a GPU. Internal.
#pragma once

#include <memory>
#include <optional>

#include "asyncgrad/backends/cuda/gpu.h"
#include "asyncgrad/backends/cuda/launch.h"
#include "asyncgrad/backends/cuda/launch_graphs.h"
#include "asyncgrad/backends/cuda/staging.h"
#include "asyncgrad/core/backend/device_queue.h"

namespace asyncgrad::detail::cuda {

class Queue final : public DeviceQueue {
 public:
  // The `index`-th queue. The calling thread's device is the GPU. Throws Error if it cannot be made.
  Queue(Gpu& gpu, int index);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() override;

  void issue(const char* name, const Kernel& kernel, const KernelCall& call) override;
  void set_graph(std::shared_ptr<LaunchGraphState> graph) override;
  std::unique_ptr<DeviceEvent> make_event() override;
  void record(DeviceEvent& event) override;
  void wait_for(const DeviceEvent& event) override;
  void wait_for_memory(const DeviceEvent& event) override;
  bool is_complete(const DeviceEvent& event) override;
  std::unique_ptr<DeviceEvent> make_timed_event() override;
  std::int64_t ns_between(const DeviceEvent& from, const DeviceEvent& to) override;

  // Copies between two places with elements of one type, on one device or on two, on the stream of the launch. The
  // kernel of copies calls it.
  void copy(const KernelCall& call);

 private:
  // `on_host`: which of the two is pinned memory.
  void copy_pinned(std::byte* to, const std::byte* from, std::int64_t size_bytes, const std::byte* on_host);

  Gpu& gpu_;
  const MadeStream stream_;
  std::optional<Staging> staging_;  // only queues for copies have it
  std::shared_ptr<Planner> planner_;
  const Launch launch_;
  LaunchGraphs graphs_;
};

// Does the same, and makes the GPU the calling thread's device.
std::unique_ptr<DeviceQueue> make_queue(Gpu& gpu, int index);

// The kernel of copies between places with elements of one type.
void run_copy(const KernelCall& call, int tile);

}  // namespace asyncgrad::detail::cuda
