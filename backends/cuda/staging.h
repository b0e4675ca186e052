// Copies between a GPU's memory and the host's. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asyncgrad/backends/cuda/gpu.h"

namespace asyncgrad::detail::cuda {

// A GPU copies asynchronously from and to pinned memory only. Copies of tensors whose memory is not pinned therefore pass
// through two pinned buffers, piece by piece: while one is filled the other is drained. The GPU does its part on
// its queue's stream, the host on another stream, and events let each wait for the other.
class Staging {
 public:
  static constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

  // Serves copies on `stream`. The GPU is the calling thread's device. Throws Error.
  Staging(Gpu& gpu, cudaStream_t stream);

  // Both return at once. They throw DeviceFailed.
  void copy_in(std::byte* to, const std::byte* from, std::int64_t size_bytes);
  void copy_out(std::byte* to, const std::byte* from, std::int64_t size_bytes);
  // Lets the host's part of later copies begin after the event.
  void wait_for(cudaEvent_t event);

 private:
  class Pinned {
   public:
    explicit Pinned(Gpu& gpu);
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    ~Pinned();
    void* get() const { return memory_; }

   private:
    Gpu& gpu_;
    void* memory_ = nullptr;
  };
  struct Buffer {
    explicit Buffer(Gpu& gpu) : memory(gpu), filled(gpu, &Gpu::require), drained(gpu, &Gpu::require) {}
    Pinned memory;
    MadeEvent filled, drained;  // the last time
  };

  template <class Function>
  void for_each_piece(std::int64_t size_bytes, Function function);
  void record(const MadeEvent& event, cudaStream_t stream);
  void wait(cudaStream_t stream, const MadeEvent& event);

  Gpu& gpu_;
  const cudaStream_t stream_;
  const MadeStream host_stream_;
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;  // of the two
};

}  // namespace asyncgrad::detail::cuda
