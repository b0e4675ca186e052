#include "asyncgrad/backends/cuda/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nvtx3/nvtx3.hpp>

#include "asyncgrad/backends/cuda/pinned_memory.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail::cuda {

namespace {

class Event : public DeviceEvent {
 public:
  virtual cudaEvent_t get() const = 0;
};

template <class Made>
class EventOf final : public Event {
 public:
  explicit EventOf(Gpu& gpu) : gpu_(gpu), event_(gpu, &Gpu::check) {}
  EventOf(const EventOf&) = delete;
  EventOf& operator=(const EventOf&) = delete;
  ~EventOf() override { gpu_.set_current_at_end(); }
  cudaEvent_t get() const override { return event_.get(); }

 private:
  Gpu& gpu_;
  const Made event_;
};

cudaEvent_t event_of(const DeviceEvent& event) { return static_cast<const Event&>(event).get(); }

}  // namespace

Queue::Queue(Gpu& gpu, int index)
    : gpu_(gpu), stream_(gpu, &Gpu::require), launch_{stream_.get(), this, planner_}, graphs_(gpu, launch_) {
  if (index != compute_queue) staging_.emplace(gpu, stream_.get());
}

Queue::~Queue() { gpu_.set_current_at_end(); }

// The range shows in Nsight Systems to which operation a kernel belongs.
void Queue::issue(const char* name, const Kernel& kernel, const KernelCall& call) {
  const nvtx3::scoped_range range{name};
  gpu_.set_current();
  graphs_.has_graph() ? graphs_.issue(kernel, call) : run(gpu_, kernel, call, launch_);
}

void Queue::set_graph(std::shared_ptr<LaunchGraphState> graph) {
  gpu_.set_current();
  graphs_.set_graph(std::move(graph));
}

std::unique_ptr<DeviceEvent> Queue::make_event() {
  gpu_.set_current();
  return std::make_unique<EventOf<MadeEvent>>(gpu_);
}

void Queue::record(DeviceEvent& event) {
  if (graphs_.has_graph()) {
    gpu_.set_current();
    graphs_.end_sequence();
  }
  gpu_.check(gpu_.api().record_event(event_of(event), stream_.get()));
}

// Puts the wait into the stream at once, even before operations that are kept back; what it waits for is in its stream
// already.
void Queue::wait_for(const DeviceEvent& event) {
  wait_for_memory(event);
  if (staging_.has_value()) staging_->wait_for(event_of(event));
}

void Queue::wait_for_memory(const DeviceEvent& event) {
  gpu_.check(gpu_.api().wait_event(stream_.get(), event_of(event)));
}

bool Queue::is_complete(const DeviceEvent& event) {
  const cudaError_t status = gpu_.api().query_event(event_of(event));
  if (status == cudaErrorNotReady) return false;
  gpu_.check(status);
  return true;
}

std::unique_ptr<DeviceEvent> Queue::make_timed_event() {
  gpu_.set_current();
  return std::make_unique<EventOf<MadeTimingEvent>>(gpu_);
}

std::int64_t Queue::ns_between(const DeviceEvent& from, const DeviceEvent& to) {
  float milliseconds = 0;
  gpu_.check(gpu_.api().get_elapsed_time(&milliseconds, event_of(from), event_of(to)));
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

void Queue::copy(const KernelCall& call) {
  const Device to = call.device(0), from = call.device(1);
  if (call.dtype(0) != call.dtype(1)) {
    throw Error(fmt::format("{} on {} becomes {} on {}: one copy changes either", name(call.dtype(1)), from.str(),
                            name(call.dtype(0)), to.str()));
  }
  const std::int64_t size = call.numel(0) * static_cast<std::int64_t>(size_bytes(call.dtype(0)));
  if (size == 0) return;
  if (from.type == DeviceType::cpu || to.type == DeviceType::cpu) {
    const bool is_in = from.type == DeviceType::cpu;
    const std::byte* const on_host = call.bytes(is_in ? 1 : 0);
    if (PinnedMemory::has(on_host)) return copy_pinned(call.bytes(0), call.bytes(1), size, on_host);
    return is_in ? staging_->copy_in(call.bytes(0), call.bytes(1), size)
                 : staging_->copy_out(call.bytes(0), call.bytes(1), size);
  }
  gpu_.check_refusable(
      to == from ? gpu_.api().copy_async(call.bytes(0), call.bytes(1), static_cast<std::size_t>(size), stream_of(call))
                 : gpu_.api().copy_peer_async(call.bytes(0), to.index, call.bytes(1), from.index,
                                              static_cast<std::size_t>(size), stream_of(call)));
}

void Queue::copy_pinned(std::byte* to, const std::byte* from, std::int64_t size_bytes, const std::byte* on_host) {
  for (std::int64_t begin = 0; begin < size_bytes;) {
    const std::int64_t piece = std::min(size_bytes - begin, PinnedMemory::bytes_together(on_host + begin));
    gpu_.check(gpu_.api().copy_async(to + begin, from + begin, static_cast<std::size_t>(piece), stream_.get()));
    begin += piece;
  }
}

std::unique_ptr<DeviceQueue> make_queue(Gpu& gpu, int index) {
  gpu.require(gpu.api().set_device(gpu.index()));
  return std::make_unique<Queue>(gpu, index);
}

void run_copy(const KernelCall& call, int) { static_cast<const Launch*>(call.launch)->queue->copy(call); }

}  // namespace asyncgrad::detail::cuda
