#include "tests/backends/cuda/fake_api.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace asyncgrad::tests {

namespace {

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
  std::vector<std::shared_ptr<FakeRecordings>> ends;
  {
    const std::lock_guard lock(mutex_);
    if (const cudaError_t status = status_of("synchronize_device"); status != cudaSuccess) return status;
    for (const auto& [handle, stream] : streams_) {
      ends.push_back(std::make_shared<FakeRecordings>());
      stream->push([end = ends.back()] { end->reach(1); });
    }
  }
  for (const auto& end : ends) end->wait_for(1);
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
  {
    const std::lock_guard lock(mutex_);
    if (const cudaError_t status = status_of("query_event"); status != cudaSuccess) return status;
    if (events_.at(event)->is_done()) return cudaSuccess;
  }
  // A caller that asks again and again leaves the processor to the streams: they are threads here.
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  return cudaErrorNotReady;
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

std::string FakeApi::str(cudaError_t status) { return "status " + std::to_string(status); }

}  // namespace asyncgrad::tests
