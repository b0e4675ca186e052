#include "asyncgrad/backends/cuda/staging.h"

#include <algorithm>

namespace asyncgrad::detail::cuda {

Staging::Pinned::Pinned(Gpu& gpu) : gpu_(gpu) { gpu.require(gpu.api().allocate_host(&memory_, piece_bytes)); }

Staging::Pinned::~Pinned() {
  if (!gpu_.has_failed()) gpu_.note(gpu_.api().free_host(memory_));
}

Staging::Staging(Gpu& gpu, cudaStream_t stream)
    : gpu_(gpu), stream_(stream), host_stream_(gpu, &Gpu::require), buffers_{Buffer(gpu), Buffer(gpu)} {}

void Staging::copy_in(std::byte* to, const std::byte* from, std::int64_t size_bytes) {
  for_each_piece(size_bytes, [&](const Buffer& buffer, std::int64_t begin, std::size_t size) {
    wait(host_stream_.get(), buffer.drained);
    gpu_.copy_on_host(buffer.memory.get(), from + begin, size, host_stream_.get());
    record(buffer.filled, host_stream_.get());
    wait(stream_, buffer.filled);
    gpu_.check(gpu_.api().copy_async(to + begin, buffer.memory.get(), size, stream_));
    record(buffer.drained, stream_);
  });
}

void Staging::copy_out(std::byte* to, const std::byte* from, std::int64_t size_bytes) {
  const MadeEvent* last = nullptr;
  for_each_piece(size_bytes, [&](const Buffer& buffer, std::int64_t begin, std::size_t size) {
    wait(stream_, buffer.drained);
    gpu_.check(gpu_.api().copy_async(buffer.memory.get(), from + begin, size, stream_));
    record(buffer.filled, stream_);
    wait(host_stream_.get(), buffer.filled);
    gpu_.copy_on_host(to + begin, buffer.memory.get(), size, host_stream_.get());
    record(buffer.drained, host_stream_.get());
    last = &buffer.drained;
  });
  if (last != nullptr) wait(stream_, *last);  // so that later operations find the whole copy
}

void Staging::wait_for(cudaEvent_t event) { gpu_.check(gpu_.api().wait_event(host_stream_.get(), event)); }

template <class Function>
void Staging::for_each_piece(std::int64_t size_bytes, Function function) {
  for (std::int64_t begin = 0; begin < size_bytes; begin += piece_bytes) {
    function(buffers_[next_], begin, static_cast<std::size_t>(std::min(piece_bytes, size_bytes - begin)));
    next_ = 1 - next_;
  }
}

void Staging::record(const MadeEvent& event, cudaStream_t stream) {
  gpu_.check(gpu_.api().record_event(event.get(), stream));
}

void Staging::wait(cudaStream_t stream, const MadeEvent& event) {
  gpu_.check(gpu_.api().wait_event(stream, event.get()));
}

}  // namespace asyncgrad::detail::cuda
