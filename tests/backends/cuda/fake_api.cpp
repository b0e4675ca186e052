#include "tests/backends/cuda/fake_api.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

namespace asyncgrad::tests {

namespace {

constexpr std::size_t page_bytes = 1 << 16;
thread_local int device_of_thread = -1;

}  // namespace

int FakeApi::device_of_this_thread() { return device_of_thread; }

FakeApi::FakeApi(const FakeApiOptions& options)
    : options_(options), random_(options.seed), used_bytes_(static_cast<std::size_t>(options.gpus)) {
  streams_[cudaStreamLegacy] = std::make_unique<FakeStream>();
}

FakeApi::~FakeApi() { end_memory(); }

void FakeApi::fail(const std::string& function, int index, cudaError_t status, bool is_lasting) {
  const std::lock_guard lock(mutex_);
  failing_ = function;
  until_failing_ = index;
  failing_status_ = status;
  is_lasting_ = is_lasting;
}

std::map<std::string, int> FakeApi::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::size_t FakeApi::objects() const {
  const std::lock_guard lock(mutex_);
  const std::size_t streams = streams_.size() - 1;  // without the default stream
  return streams + events_.size() + blocks_.size() + captures_.size() + graphs_.size() + executables_.size();
}

std::size_t FakeApi::timing_events() const {
  const std::lock_guard lock(mutex_);
  return timing_events_.size();
}

std::size_t FakeApi::pinned_blocks() const {
  const std::lock_guard lock(mutex_);
  return pinned_.size();
}

std::int64_t FakeApi::used_bytes(int gpu) const {
  const std::lock_guard lock(mutex_);
  return used_bytes_[static_cast<std::size_t>(gpu)];
}

void FakeApi::end_memory() {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, size] : regions_) munmap(begin, size);
  regions_.clear();
  mapped_.clear();
  pinned_.clear();
}

void FakeApi::launch(cudaStream_t stream, std::function<void()> kernel) {
  const std::lock_guard lock(mutex_);
  const cudaError_t status = status_of("launch");
  EXPECT_GE(device_of_thread, 0);
  // What was refused stays until take_last_error(), and nothing is launched behind it.
  if (last_error_ != cudaSuccess) return;
  last_error_ = status != cudaSuccess ? status : push(stream, [this, run = std::move(kernel)] {
    is_held_.wait(true);
    run();
  });
}

void FakeApi::hold_kernels(bool hold) {
  is_held_ = hold;
  is_held_.notify_all();
}

void FakeApi::hold_count(bool hold) {
  is_count_held_ = hold;
  is_count_held_.notify_all();
}

cudaError_t FakeApi::status_of(const char* function) {
  ++calls_[function];
  if (lasting_status_ != cudaSuccess) return lasting_status_;
  if (failing_ != function || until_failing_-- != 0) return cudaSuccess;
  has_failed_ = true;
  if (is_lasting_) {
    lasting_status_ = failing_status_;
    is_dead_ = true;
  }
  return failing_status_;
}

void FakeApi::note_made(const void* object) {
  EXPECT_GE(device_of_thread, 0);
  device_of_[object] = device_of_thread;
}

// After set_device() has failed, the thread may have another device.
void FakeApi::note_ended(const void* object) {
  const auto made = device_of_.extract(object);
  EXPECT_TRUE(has_failed_ || made.mapped() == device_of_thread);
}

// Queues a task, which is late now and then.
cudaError_t FakeApi::push(cudaStream_t stream, std::function<void()> task) {
  if (is_capturing(stream)) {
    captures_.at(stream)->push_back(std::make_shared<Tasks>(Tasks{std::move(task)}));
    return cudaSuccess;
  }
  const auto delay = static_cast<int>(random_() % 1024);
  const std::chrono::microseconds pause(delay < 64 ? delay * options_.max_delay_us / 64 : 0);
  streams_.at(stream)->push([this, pause, run = std::move(task)] {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    if (!is_dead_) run();
  });
  return cudaSuccess;
}

cudaError_t FakeApi::push_copy(cudaStream_t stream, void* to, const void* from, std::size_t size) {
  EXPECT_TRUE(is_reachable(to, size) && is_reachable(from, size)) << "memory that a GPU does not reach";
  return push(stream, [=] { std::memcpy(to, from, size); });
}

bool FakeApi::is_reachable(const void* begin, std::size_t size) const {
  const auto* const address = static_cast<const std::byte*>(begin);
  auto pinned = pinned_.upper_bound(address);
  if (pinned != pinned_.begin() && address + size <= (--pinned)->first + pinned->second.size()) return true;
  const auto first = reinterpret_cast<CUdeviceptr>(begin) / page_bytes * page_bytes;
  for (CUdeviceptr page = first; page < reinterpret_cast<CUdeviceptr>(begin) + size; page += page_bytes) {
    if (!mapped_.contains(page)) return false;
  }
  return true;
}

cudaError_t FakeApi::get_device_count(int* count) {
  *count = options_.gpus;
  cudaError_t status = cudaSuccess;
  {
    const std::lock_guard lock(mutex_);
    status = status_of("get_device_count");
  }
  is_count_held_.wait(true);
  return status;
}

cudaError_t FakeApi::get_device_properties(cudaDeviceProp* properties, int) {
  const std::lock_guard lock(mutex_);
  std::strcpy(properties->name, "a GPU that a test made up");
  properties->totalGlobalMem = static_cast<std::size_t>(options_.memory_bytes);
  properties->major = options_.capability / 10;
  properties->minor = options_.capability % 10;
  return status_of("get_device_properties");
}

cudaError_t FakeApi::set_device(int device) {
  const std::lock_guard lock(mutex_);
  EXPECT_TRUE(device >= 0 && device < options_.gpus);
  const cudaError_t status = status_of("set_device");
  if (status == cudaSuccess) device_of_thread = device;
  return status;
}

// CUDA's first device is that of a thread that has set none.
cudaError_t FakeApi::get_device(int* device) {
  const std::lock_guard lock(mutex_);
  *device = std::max(device_of_thread, 0);
  return status_of("get_device");
}

cudaError_t FakeApi::synchronize_device() {
  std::vector<std::future<void>> ends;
  {
    const std::lock_guard lock(mutex_);
    if (const cudaError_t status = status_of("synchronize_device"); status != cudaSuccess) return status;
    for (const auto& [handle, stream] : streams_) {
      const auto end = std::make_shared<std::promise<void>>();
      ends.push_back(end->get_future());
      stream->push([end] { end->set_value(); });
    }
  }
  for (const std::future<void>& end : ends) end.wait();
  return cudaSuccess;
}

cudaError_t FakeApi::can_access_peer(bool* can, int, int) {
  const std::lock_guard lock(mutex_);
  *can = options_.reach_each_other;
  return status_of("can_access_peer");
}

cudaError_t FakeApi::create_stream(cudaStream_t* stream) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("create_stream"); status != cudaSuccess) return status;
  auto made = std::make_unique<FakeStream>();
  *stream = reinterpret_cast<cudaStream_t>(made.get());
  note_made(*stream);
  streams_[*stream] = std::move(made);
  return cudaSuccess;
}

cudaError_t FakeApi::destroy_stream(cudaStream_t stream) {
  std::unique_lock lock(mutex_);
  const cudaError_t status = status_of("destroy_stream");
  const auto ended = streams_.extract(stream);
  EXPECT_FALSE(ended.empty());
  note_ended(stream);
  lock.unlock();  // it comes to its end
  return status;
}

cudaError_t FakeApi::create_event(cudaEvent_t* event) {
  const std::lock_guard lock(mutex_);
  const cudaError_t status = status_of("create_event");
  return status != cudaSuccess ? status : make_event(event);
}

cudaError_t FakeApi::create_timing_event(cudaEvent_t* event) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("create_timing_event"); status != cudaSuccess) return status;
  make_event(event);
  timing_events_.insert(*event);
  return cudaSuccess;
}

cudaError_t FakeApi::make_event(cudaEvent_t* event) {
  auto made = std::make_shared<FakeRecordings>();
  *event = reinterpret_cast<cudaEvent_t>(made.get());
  note_made(*event);
  events_[*event] = std::move(made);
  return cudaSuccess;
}

cudaError_t FakeApi::destroy_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(events_.erase(event), 1U);
  timing_events_.erase(event);
  note_ended(event);
  return status_of("destroy_event");
}

cudaError_t FakeApi::record_event(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("record_event"); status != cudaSuccess) return status;
  EXPECT_FALSE(is_capturing(stream));
  const std::shared_ptr<FakeRecordings>& recorded = events_.at(event);
  // A stream that runs nothing else any more records the event, too, because others wait for it.
  streams_.at(stream)->push([recorded, number = recorded->record()] { recorded->reach(number); });
  return cudaSuccess;
}

cudaError_t FakeApi::wait_event(cudaStream_t stream, cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("wait_event"); status != cudaSuccess) return status;
  EXPECT_FALSE(is_capturing(stream));
  const std::shared_ptr<FakeRecordings>& recorded = events_.at(event);
  streams_.at(stream)->push([recorded, number = recorded->recorded()] { recorded->wait_for(number); });
  return cudaSuccess;
}

cudaError_t FakeApi::query_event(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("query_event"); status != cudaSuccess) return status;
  return events_.at(event)->is_done() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t FakeApi::get_elapsed_time(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const std::lock_guard lock(mutex_);
  for (const cudaEvent_t event : {begin, end}) {
    EXPECT_TRUE(timing_events_.contains(event) && events_.at(event)->is_done());
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(events_.at(end)->reached() - events_.at(begin)->reached()).count();
  return status_of("get_elapsed_time");
}

cudaError_t FakeApi::copy_async(void* to, const void* from, std::size_t size, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const cudaError_t status = status_of("copy_async");
  return status != cudaSuccess ? status : push_copy(stream, to, from, size);
}

cudaError_t FakeApi::copy_peer_async(void* to, int to_device, const void* from, int from_device, std::size_t size,
                                     cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  EXPECT_NE(to_device, from_device);
  const cudaError_t status = status_of("copy_peer_async");
  return status != cudaSuccess ? status : push_copy(stream, to, from, size);
}

cudaError_t FakeApi::launch_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const std::lock_guard lock(mutex_);
  const cudaError_t status = status_of("launch_host_function");
  return status != cudaSuccess ? status : push(stream, [this, function, data] {
    function(data);
    ++host_functions_;
  });
}

cudaError_t FakeApi::take_last_error() {
  const std::lock_guard lock(mutex_);
  const cudaError_t status = status_of("take_last_error");
  const cudaError_t last = std::exchange(last_error_, cudaSuccess);
  return status != cudaSuccess ? status : last;
}

cudaError_t FakeApi::allocate_host(void** memory, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("allocate_host"); status != cudaSuccess) return status;
  std::vector<std::byte> block(size);
  *memory = block.data();
  note_made(*memory);
  pinned_[block.data()] = std::move(block);
  return cudaSuccess;
}

cudaError_t FakeApi::free_host(void* memory) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(pinned_.erase(static_cast<std::byte*>(memory)), 1U);
  note_ended(memory);
  return status_of("free_host");
}

cudaError_t FakeApi::get_memory_info(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex_);
  *total = static_cast<std::size_t>(options_.memory_bytes);
  *free = *total - static_cast<std::size_t>(used_bytes_.at(static_cast<std::size_t>(device_of_thread)));
  return status_of("get_memory_info");
}

cudaError_t FakeApi::get_granularity(std::size_t* size, int) {
  const std::lock_guard lock(mutex_);
  *size = page_bytes;
  return status_of("get_granularity");
}

cudaError_t FakeApi::reserve_addresses(CUdeviceptr* begin, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("reserve_addresses"); status != cudaSuccess) return status;
  EXPECT_EQ(size % page_bytes, 0U);
  // The addresses begin at a page of the GPU, which is larger than the machine's.
  void* const region = mmap(nullptr, size + page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return cudaErrorMemoryAllocation;
  regions_[region] = size + page_bytes;
  *begin = (reinterpret_cast<CUdeviceptr>(region) + page_bytes - 1) / page_bytes * page_bytes;
  return cudaSuccess;
}

cudaError_t FakeApi::create_memory(CUmemGenericAllocationHandle* memory, std::size_t size, int device) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("create_memory"); status != cudaSuccess) return status;
  std::int64_t& used = used_bytes_.at(static_cast<std::size_t>(device));
  EXPECT_EQ(size % page_bytes, 0U);
  if (used + static_cast<std::int64_t>(size) > options_.memory_bytes) return cudaErrorMemoryAllocation;
  *memory = ++last_block_;
  blocks_[*memory] = std::make_shared<Block>(static_cast<std::int64_t>(size), used);
  return cudaSuccess;
}

cudaError_t FakeApi::release_memory(CUmemGenericAllocationHandle memory) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(blocks_.erase(memory), 1U);
  return status_of("release_memory");
}

cudaError_t FakeApi::map(CUdeviceptr begin, std::size_t size, CUmemGenericAllocationHandle memory) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("map"); status != cudaSuccess) return status;
  EXPECT_EQ(blocks_.at(memory)->size, static_cast<std::int64_t>(size));
  EXPECT_EQ(size, page_bytes);  // is_reachable() looks at pages
  EXPECT_TRUE(mapped_.emplace(begin, blocks_.at(memory)).second);
  return cudaSuccess;
}

cudaError_t FakeApi::unmap(CUdeviceptr begin, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("unmap"); status != cudaSuccess) return status;
  for (CUdeviceptr page = begin; page < begin + size; page += page_bytes) EXPECT_EQ(mapped_.erase(page), 1U);
  madvise(reinterpret_cast<void*>(begin), size, MADV_DONTNEED);
  return mprotect(reinterpret_cast<void*>(begin), size, PROT_NONE) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t FakeApi::set_access(CUdeviceptr begin, std::size_t size, std::span<const int> devices) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t status = status_of("set_access"); status != cudaSuccess) return status;
  EXPECT_TRUE(is_reachable(reinterpret_cast<void*>(begin), size));
  EXPECT_EQ(devices.size(), options_.reach_each_other ? static_cast<std::size_t>(options_.gpus) : 1U);
  if (mprotect(reinterpret_cast<void*>(begin), size, PROT_READ | PROT_WRITE) != 0) return cudaErrorInvalidValue;
  std::memset(reinterpret_cast<void*>(begin), 0xff, size);  // a device's memory holds anything
  return cudaSuccess;
}

std::string FakeApi::str(cudaError_t status) { return "status " + std::to_string(status); }

}  // namespace asyncgrad::tests
