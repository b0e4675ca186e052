#include "tests/core/engine/fake_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "asyncgrad/core/backend/device_queue.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/memory_source.h"
#include "tests/support/fake_stream.h"
#include "tests/support/late_run.h"

namespace asyncgrad::tests {

namespace {

using detail::DeviceEvent;
using detail::Kernel;
using detail::KernelCall;

FakeOptions options;  // set while no queue is there
std::atomic<int> queues_to_refuse{0}, issues_to_refuse{0}, refused_backings{0};
std::array<std::atomic<bool>, 2> has_failed{};

bool is_its_turn(std::atomic<int>& refusals) { return refusals.load() > 0 && refusals.fetch_sub(1) > 0; }

// Which queues are held back, by their index, which is the same on both devices.
std::mutex hold_mutex;
std::condition_variable hold_changed;
std::array<bool, detail::queue_count> is_held{};

void pass_hold(int index) {
  std::unique_lock lock(hold_mutex);
  hold_changed.wait(lock, [index] { return !is_held[static_cast<std::size_t>(index)]; });
}

class FakeEvent final : public DeviceEvent, public FakeRecordings {};

class FakeQueue final : public detail::DeviceQueue {
 public:
  explicit FakeQueue(Device device, int index)
      : device_(static_cast<std::size_t>(device.index)),
        index_(index),
        random_(options.seed * 8 + static_cast<std::uint64_t>(3 * device.index + index)) {
    stream_.push([this] { mode_before_ = detail::enter_thread(cpu()); });
  }
  FakeQueue(const FakeQueue&) = delete;
  FakeQueue& operator=(const FakeQueue&) = delete;
  ~FakeQueue() override {
    stream_.push([this] { detail::leave_thread(cpu(), mode_before_); });
  }

  void issue(const char*, const Kernel& kernel, const KernelCall& call) override {
    check();
    if (is_its_turn(issues_to_refuse)) throw Error("the launch was refused");
    const std::int64_t scratch_bytes = kernel.scratch_bytes == nullptr ? 0 : kernel.scratch_bytes(call);
    stream_.push([this, run = late_run(kernel, call), scratch = call.scratch, scratch_bytes] {
      pass_hold(index_);
      const auto delay = static_cast<int>(random_() % 1024);
      if (delay < 256) std::this_thread::sleep_for(std::chrono::microseconds(delay * options.max_delay_us / 256));
      if (has_failed[device_].load()) return;  // it writes to no host memory any more
      std::fill_n(scratch, scratch_bytes, std::byte{0xff});
      run();
    });
  }
  std::unique_ptr<DeviceEvent> make_event() override { return std::make_unique<FakeEvent>(); }
  void record(DeviceEvent& event) override {
    check();
    auto& fake = static_cast<FakeEvent&>(event);
    stream_.push([&fake, generation = fake.record()] { fake.reach(generation); });
  }
  void wait_for(const DeviceEvent& event) override {
    check();
    auto& fake = const_cast<FakeEvent&>(static_cast<const FakeEvent&>(event));
    stream_.push([&fake, generation = fake.recorded()] { fake.wait_for(generation); });
  }
  bool is_complete(const DeviceEvent& event) override {
    check();
    const auto& fake = static_cast<const FakeEvent&>(event);
    return fake.is_done();
  }

  std::unique_ptr<DeviceEvent> make_timed_event() override { return make_event(); }
  std::int64_t ns_between(const DeviceEvent& from, const DeviceEvent& to) override {
    check();
    return std::chrono::nanoseconds(static_cast<const FakeEvent&>(to).reached() -
                                    static_cast<const FakeEvent&>(from).reached())
        .count();
  }

 private:
  static const detail::Backend& cpu() { return *detail::make_backend(DeviceType::cpu); }
  void check() const {
    if (has_failed[device_].load()) throw detail::DeviceFailed("an illegal address");
  }

  const std::size_t device_;
  const int index_;
  // Only the stream's thread uses these.
  std::mt19937_64 random_;
  std::uint64_t mode_before_ = 0;
  FakeStream stream_;  // the last, as it uses all of the above
};

class FakeMemory final : public detail::MemorySource {
 public:
  std::int64_t page_bytes() const override { return 1 << 16; }
  std::byte* reserve(std::int64_t size_bytes) override {
    void* const begin =
        mmap(nullptr, static_cast<std::size_t>(size_bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return begin == MAP_FAILED ? nullptr : static_cast<std::byte*>(begin);
  }
  bool back(std::byte* begin, std::int64_t size_bytes) override {
    if (backed_bytes_ + size_bytes > options.memory_bytes) {
      ++refused_backings;
      return false;
    }
    backed_bytes_ += size_bytes;
    return mprotect(begin, static_cast<std::size_t>(size_bytes), PROT_READ | PROT_WRITE) == 0;
  }
  bool unback(std::byte* begin, std::int64_t size_bytes) override {
    backed_bytes_ -= size_bytes;
    madvise(begin, static_cast<std::size_t>(size_bytes), MADV_DONTNEED);
    mprotect(begin, static_cast<std::size_t>(size_bytes), PROT_NONE);
    return true;
  }

 private:
  std::int64_t backed_bytes_ = 0;
};

}  // namespace

FakeDevices::FakeDevices(const FakeOptions& fake_options)
    : backend_(*new detail::Backend(*detail::make_backend(DeviceType::cpu))) {
  options = fake_options;
  queues_to_refuse = 0;
  issues_to_refuse = 0;
  refused_backings = 0;
  for (std::atomic<bool>& failed : has_failed) failed = false;
  is_held.fill(false);
  backend_.name = "fake";
  for (Kernel& kernel : backend_.kernels) kernel.prepare = nullptr;
  for (Kernel& kernel : backend_.elementwise) kernel.prepare = nullptr;
  backend_.kernels[static_cast<std::size_t>(detail::Op::arange)].scratch_bytes = [](const KernelCall&) {
    return options.arange_scratch_bytes;
  };
  backend_.make_queue = [](Device device, int index) -> std::unique_ptr<detail::DeviceQueue> {
    if (device.index > 1) throw_error("device", "there is no " + device.str() + " here");
    if (is_its_turn(queues_to_refuse)) throw_error("device", device.str() + " does not come into use");
    return std::make_unique<FakeQueue>(device, index);
  };
  backend_.memory = [](Device) -> detail::MemorySource& { return *new FakeMemory; };  // as long as the state: for good
  detail::Engine::get().replace_backend(DeviceType::cuda, &backend_);
}

FakeDevices::~FakeDevices() {
  for (int index = 0; index < detail::queue_count; ++index) hold(index, false);
  detail::Engine::get().replace_backend(DeviceType::cuda, nullptr);
}

void FakeDevices::hold(int index, bool hold) {
  const std::lock_guard lock(hold_mutex);
  is_held[static_cast<std::size_t>(index)] = hold;
  hold_changed.notify_all();
}

int FakeDevices::memory_refusals() { return refused_backings; }
void FakeDevices::refuse_queues(int count) { queues_to_refuse = count; }
void FakeDevices::refuse_issues(int count) { issues_to_refuse = count; }
void FakeDevices::fail_for_good(Device device) { has_failed[static_cast<std::size_t>(device.index)] = true; }

}  // namespace asyncgrad::tests
