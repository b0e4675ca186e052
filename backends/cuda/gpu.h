// One GPU: calls of CUDA, the treatment of their statuses, and copies that the host makes for it. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "asyncgrad/backends/cuda/api.h"

namespace asyncgrad::detail::cuda {

// Whether a call with this status has done nothing, and the device goes on. All other errors report an earlier failure,
// at an unknown place.
bool is_refusal(cudaError_t status);

// It lives as long as the process, because CUDA may still use what it was given when everything else is destroyed.
//
// Thread safety: any thread may call any function, except copy_on_host(), which the launch thread calls.
class Gpu {
 public:
  // Throws Error if the machine has no such GPU, or if it is older than those that the build has kernels for.
  Gpu(Api& api, int index);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Api& api() const { return api_; }
  int index() const { return index_; }
  int count() const { return count_; }  // of the machine's GPUs
  std::int64_t free_bytes();            // that the driver could give. Throws Error

  // These handle the status of a call, if it is not success:
  void require(cudaError_t status) const;    // when the GPU comes into use: throws Error
  void check_refusable(cudaError_t status);  // for one operation with nothing done yet: throws Error if it was refused
  void check(cudaError_t status);            // in all other cases: throws DeviceFailed
  void note(cudaError_t status) noexcept;    // where nothing may be thrown: the next check() throws

  // A failed GPU may still write anywhere, so memory that it may touch is never freed.
  bool has_failed() const { return failure_.load(std::memory_order_acquire) != cudaSuccess; }

  // Makes this GPU the calling thread's device.
  void set_current() { check(api_.set_device(index_)); }
  void set_current_at_end() noexcept { note(api_.set_device(index_)); }

  // Pins memory of the program for every GPU. Returns false if there is not so much to be pinned. Throws Error.
  bool pin(void* memory, std::size_t size);
  // Ends that, for what one call of pin() has pinned. Returns false if it stays pinned; if the GPU has failed, that is
  // noted.
  bool unpin(void* memory) noexcept;

  // Both block, and throw Error. A copy within the GPU's memory, behind what CUDA's default stream was given.
  void synchronize();
  void copy_now(void* to, const void* from, std::size_t size);
  // Held while a stream captures: CUDA refuses to wait for the GPU meanwhile, and ends the capture.
  std::mutex& captures() { return captures_; }

  // Copies within the host's memory, in the stream's order. After the GPU has failed, it no longer touches that memory,
  // as the memory's owner assumes.
  void copy_on_host(void* to, const void* from, std::size_t size, cudaStream_t stream);

 private:
  class Meanwhile;
  std::string str(cudaError_t status) const;
  void check_of_program(cudaError_t status);
  void check_pinning(cudaError_t status);  // the same, of register_host() and unregister_host()
  [[noreturn]] void throw_of_program(cudaError_t status) const;

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
  int count_ = 0, capability_ = 0;
  std::atomic<cudaError_t> failure_{cudaSuccess};
  std::mutex captures_;
  std::shared_mutex host_memory_;  // held shared while memory is copied, alone while failure_ is set
  std::deque<HostCopy> host_copies_;
};

// A handle that one call makes and another destroys. The GPU is the calling thread's device at both.
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
