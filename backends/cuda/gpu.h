// One GPU: CUDA's calls, what becomes of their statuses, and what the host copies for it. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <shared_mutex>

#include "asyncgrad/backends/cuda/api.h"

namespace asyncgrad::detail::cuda {

// Lives as long as the process: CUDA may still come to what it was given when everything else is gone.
//
// Thread safety: any thread may call any function, but copy_on_host(), the launch thread alone.
class Gpu {
 public:
  // Throws Error if the machine has no such GPU.
  Gpu(Api& api, int index);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Api& api() const { return api_; }
  int index() const { return index_; }
  int count() const { return count_; }  // of the machine's GPUs

  // What a call's status means depends on what it was for. If it is not success:
  void require(cudaError_t status) const;    // to come into use: throws Error
  void check_refusable(cudaError_t status);  // for one operation, with nothing done yet: Error if it was but refused
  void check(cudaError_t status);            // for all else: throws DeviceFailed
  void note(cudaError_t status) noexcept;    // where nothing may be thrown: the next check() does it

  // Nobody knows what it still does then: nothing that it may touch is taken away from it.
  bool has_failed() const { return failure_.load(std::memory_order_acquire) != cudaSuccess; }

  // The calling thread's device is this one from here on.
  void set_current() { check(api_.set_device(index_)); }
  void set_current_at_end() noexcept { note(api_.set_device(index_)); }

  // Copies in the host's memory in the stream's order. Once the GPU has failed it does not touch it any more: whoever
  // owns that memory has been told that nothing will.
  void copy_on_host(void* to, const void* from, std::size_t size, cudaStream_t stream);

 private:
  struct HostCopy {
    HostCopy(Gpu& gpu, void* to, const void* from, std::size_t size) : gpu(gpu), to(to), from(from), size(size) {}
    Gpu& gpu;
    void* to;
    const void* from;
    std::size_t size;
    std::atomic<bool> is_done{false};
  };
  static void run(void* host_copy);

  Api& api_;
  const int index_;
  int count_ = 0;
  std::atomic<cudaError_t> failure_{cudaSuccess};
  std::shared_mutex host_memory_;  // shared: it is being copied; alone: failure_ is being set
  std::deque<HostCopy> host_copies_;
};

// What one call makes and another ends. The calling thread's device is the GPU, at the end, too.
template <class T, cudaError_t (Api::*make)(T*), cudaError_t (Api::*end)(T)>
class Made {
 public:
  template <class Check>
  Made(Gpu& gpu, Check check) : gpu_(gpu) {
    (gpu.*check)((gpu.api().*make)(&made_));
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { gpu_.note((gpu_.api().*end)(made_)); }
  T get() const { return made_; }

 private:
  Gpu& gpu_;
  T made_{};
};
using MadeStream = Made<cudaStream_t, &Api::create_stream, &Api::destroy_stream>;
using MadeEvent = Made<cudaEvent_t, &Api::create_event, &Api::destroy_event>;
using MadeTimingEvent = Made<cudaEvent_t, &Api::create_timing_event, &Api::destroy_event>;

}  // namespace asyncgrad::detail::cuda
