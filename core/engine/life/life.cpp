// The engine's life: its options, what it tells of itself, and what forks and the exit of the process do to it.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "asyncgrad/core/engine/device/launcher.h"
#include "asyncgrad/core/engine/engine.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::detail {

namespace {

constexpr int most_cpu_parts = 8;

constexpr int most_workers = 4096;

int core_count() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

// The number of the workers and the schedule as the environment has them, for the whole process.
EngineOptions options_from_environment() {
  EngineOptions options;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before the first thread
  if (const char* workers = std::getenv("ASYNCGRAD_WORKERS"); workers != nullptr && *workers != '\0') {
    const std::string_view text(workers);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.workers);
    if (error != std::errc() || end != text.data() + text.size() || options.workers < 1 ||
        options.workers > most_workers) {
      throw_error("engine", fmt::format("ASYNCGRAD_WORKERS is '{}': a number of threads, 1 to {}, is wanted", text,
                                        most_workers));
    }
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* schedule = std::getenv("ASYNCGRAD_SCHEDULE"); schedule != nullptr && *schedule != '\0') {
    const std::string_view text(schedule);
    if (text == "first_ready") {
      options.schedule = Schedule::first_ready;
    } else if (text == "immediate") {
      options.schedule = Schedule::immediate;
    } else if (text == "dry_run") {
      options.schedule = Schedule::dry_run;
    } else if (text != "oldest_first") {
      throw_error(
          "engine",
          fmt::format("ASYNCGRAD_SCHEDULE is '{}': oldest_first, first_ready, immediate or dry_run is wanted", text));
    }
  }
  return options;
}

}  // namespace

DeviceState& Devices::make(Device device) {
  // The first one is there before the engine, which is made of it.
  if (device == Device()) {
    DeviceState& state = make_state(device, *make_backend(DeviceType::cpu));
    add(state);
    return state;
  }
  return Engine::get().add_device(device);
}

DeviceState& Devices::make_state(Device device, const Backend& backend) {
  static std::mutex mutex;
  static auto* const states = new std::map<std::tuple<DeviceType, int, const Backend*>, DeviceState*>;
  const std::lock_guard lock(mutex);
  DeviceState*& state = (*states)[{device.type, device.index, &backend}];
  if (state == nullptr) state = new DeviceState(device, backend);
  return *state;
}

void Devices::remove(DeviceState& device) {
  device.stream = nullptr;
  device.copies = nullptr;
  if (device.device != Device()) place_of(device.device).store(nullptr, std::memory_order_release);
}

Engine& Engine::make() {
  static Engine* const engine = new Engine;  // never destroyed, as its threads may outlive main
  instance.store(engine, std::memory_order_release);
  return *engine;
}

Engine::Engine() : options_(options_from_environment()) {
  if (options_.workers == 0) options_.workers = core_count();
  set_up();
  install_handlers();
}

void Engine::install_handlers() {
  pthread_atfork([] { get().before_fork(); }, [] { get().after_fork(false); }, [] { get().after_fork(true); });
  std::atexit([] { get().at_exit(); });
  // A kernel may be in a library that destroys its own statics, those made after the engine before the handler above.
  // What the first thread keeps is destroyed before any of them.
  struct Ender {
    bool is_armed = false;
    ~Ender() {
      if (is_armed) get().at_exit();
    }
  };
  thread_local Ender ender;
  ender.is_armed = getpid() == gettid();
}

// While nothing is queued and no thread of a stream runs: the ring, the streams of all devices, and their memory's
// limits, as the options say.
void Engine::set_up() {
  is_dry_run_.store(options_.schedule == Schedule::dry_run, std::memory_order_relaxed);
  if (ring_.make(static_cast<std::size_t>(options_.queue_capacity))) {
    oldest_seen_ = ring_.oldest().load(std::memory_order_seq_cst);  // no record tells of the numbers before
    free_edges_ = nullptr;
    edge_blocks_.clear();
  }

  std::vector<DeviceState*> before = std::exchange(devices_, {});
  for (DeviceState* device : before) Devices::remove(*device);
  for (int i = stream_count_.exchange(0, std::memory_order_relaxed); i-- > 0;) {
    streams_[static_cast<std::size_t>(i)].reset();
  }
  const Backend& cpu = *make_backend(DeviceType::cpu);
  for (int part = 0; part < options_.cpu_parts; ++part) {
    devices_.push_back(&Devices::make_state({DeviceType::cpu, part}, cpu));
  }
  for (DeviceState* device : before) {
    if (device->is_asynchronous) devices_.push_back(device);
  }
  set_up_devices();
}

// One that does not come into use again is left out: whoever asks for it next tries anew, see Devices::get.
void Engine::set_up_devices() {
  set_up_orders();
  std::exception_ptr refusal;
  for (DeviceState* device : std::vector(devices_)) {
    try {
      set_up_device(*device);
      Devices::add(*device);
    } catch (...) {
      if (refusal == nullptr) refusal = std::current_exception();
      std::erase(devices_, device);
    }
  }
  if (refusal == nullptr) return;
  set_up_orders();
  std::rethrow_exception(refusal);
}

// Each device has an order of its own, unless there is one device alone.
void Engine::set_up_orders() {
  const bool has_orders = devices_.size() > 1;
  for (DeviceState* device : devices_) {
    if (!has_orders) {
      device->order = nullptr;
      device->oldest = &ring_.oldest();
    } else if (device->order == nullptr || device->order->slots() != ring_.slots()) {
      // No device has given out a number that the ring has not.
      device->order = std::make_unique<DeviceOrder>(ring_.slots(), next_.load(std::memory_order_relaxed));
      device->oldest = &device->order->oldest();
    }
  }
  has_orders_ = has_orders;
}

void Engine::set_up_device(DeviceState& device) {
  const bool by_readiness = options_.schedule == Schedule::first_ready;
  const std::int64_t serial_live = device.serial_live.total();
  device.admission = std::make_unique<Admission>(ring_.slots());
  device.admission->set_budget(by_readiness ? MemoryBudget::unbounded() : options_.memory_budget);
  device.admission->raise_level(serial_live);
  device.serial_since_queued = 0;
  if (is_dry_run()) dry_run_.reset(device);
  device.allocator.set_limit(device.admission->limit());
  device.allocator.set_max_cached(options_.max_cached_bytes);

  if (device.is_asynchronous) {
    device.stream = device.copies =
        add_stream(std::make_unique<Launcher>(*this, waiters_, device), 1, false, device.device.str() + " launch");
    return;
  }
  // The parts differ by one worker at most.
  const int part = static_cast<std::uint8_t>(device.device.index), parts = options_.cpu_parts;
  const int workers = options_.workers * (part + 1) / parts - options_.workers * part / parts;
  const bool has_cores = options_.workers <= core_count();
  const auto make_pool = [this, &device] { return std::make_unique<Pool>(*this, waiters_, device); };
  const std::string name = device.device.str();
  device.stream = add_stream(make_pool(), std::max(1, workers), has_cores, name + " worker");
  device.copies = parts == 1 ? device.stream : add_stream(make_pool(), 1, false, "copies to " + name);
}

// `may_spin`: not threads for copies and launches, which are beside the workers and would take a core from them.
Stream* Engine::add_stream(std::unique_ptr<Stream> stream, int workers, bool may_spin, std::string name) {
  const int count = stream_count_.load(std::memory_order_relaxed);
  if (count == most_streams) throw_error("engine", fmt::format("more than {} streams", most_streams));
  stream->make_ready_set(ring_.slots(), options_.schedule == Schedule::first_ready);
  stream->crew().start(workers, may_spin, std::move(name));
  Stream* const added = stream.get();
  streams_[static_cast<std::size_t>(count)] = std::move(stream);
  stream_count_.store(count + 1, std::memory_order_release);
  return added;
}

DeviceState& Engine::add_device(Device device) {
  if (device.type == DeviceType::cpu) {
    throw_error("device",
                fmt::format("there is no {} here: EngineOptions::cpu_parts is {}", device.str(), options_.cpu_parts));
  }
  if (static_cast<std::size_t>(device.type) >= Devices::types) {
    throw_error("device", fmt::format("there is no type of devices with the number {}", static_cast<int>(device.type)));
  }
  const Backend* const replaced = backends_[static_cast<std::size_t>(device.type)];
  const Backend* const backend = replaced != nullptr ? replaced : make_backend(device.type);
  if (backend == nullptr || device.index >= Devices::most_of_a_type) {
    throw_error("device", fmt::format("there is no {} here", device.str()));
  }
  wait_until_idle();
  const SpinLockGuard lock(front_end_, std::adopt_lock);
  // Another thread may have come first.
  for (DeviceState* other : devices_) {
    if (other->device == device) return *other;
  }
  DeviceState& state = Devices::make_state(device, *backend);
  devices_.push_back(&state);
  try {
    set_up_orders();
    set_up_device(state);
  } catch (...) {
    devices_.pop_back();
    set_up_orders();
    throw;
  }
  Devices::add(state);  // whoever finds it finds it whole
  return state;
}

// While nothing is queued. Whoever finished the last operations may still be telling the others of it: workers, and
// threads that waited, which have nothing left to wait for.
void Engine::stop_streams() {
  while (guests_.load(std::memory_order_seq_cst) > 0) std::this_thread::yield();
  for (const auto& stream : streams()) stream->crew().stop();
  for (const auto& stream : streams()) stream->crew().clear();
}

void Engine::replace_backend(DeviceType type, const Backend* backend) {
  wait_for_all_before(next_number());
  stop_streams();
  const std::lock_guard lock(front_end_);
  backends_[static_cast<std::size_t>(type)] = backend;
  std::erase_if(devices_, [type](DeviceState* device) {
    const bool is_replaced = device->device.type == type && device->is_asynchronous;
    if (is_replaced) Devices::remove(*device);
    return is_replaced;
  });
  set_up();
}

// Waits until everything is finished and nobody is in a record any more, with the front end's lock held, which keeps it
// so.
void Engine::wait_until_idle() {
  for (;;) {
    wait_for_all_before(next_number());
    front_end_.lock();
    if (ring_.oldest().load(std::memory_order_seq_cst) == next_.load(std::memory_order_relaxed)) break;
    front_end_.unlock();
  }
  // Finished is not yet retired: who finished an operation may still be in its record.
  for (const Operation& operation : ring_.records()) {
    while (operation.retired.load(std::memory_order_acquire) != operation.finished.load(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }
}

void Engine::trim_cache(DeviceState& device) {
  if (!device.is_asynchronous) return device.allocator.trim();
  // The device may still be using what its operations have returned.
  wait_until_idle();
  const SpinLockGuard lock(front_end_, std::adopt_lock);
  device.allocator.trim();
}

void Engine::set_options(const EngineOptions& options) {
  if (options.workers < 0 || options.workers > most_workers) {
    throw_error("engine", fmt::format("{} workers: 1 to {} are possible", options.workers, most_workers));
  }
  if (options.queue_capacity < 1 || options.queue_capacity > 1 << 20) {
    throw_error("engine",
                fmt::format("a queue of {} operations: 1 to {} are possible", options.queue_capacity, 1 << 20));
  }
  if (!options.memory_budget.is_automatic() && !options.memory_budget.is_unbounded() &&
      options.memory_budget.bytes() < 0) {
    throw_error("engine", fmt::format("a memory budget of {} bytes", options.memory_budget.bytes()));
  }
  if (options.cpu_parts < 1 || options.cpu_parts > most_cpu_parts) {
    throw_error("engine", fmt::format("{} parts of the CPU: 1 to {} are possible", options.cpu_parts, most_cpu_parts));
  }
  if (options.max_cached_bytes < 0) {
    throw_error("engine", fmt::format("a bound of {} bytes for cached memory", options.max_cached_bytes));
  }
  if (options.copy_bytes_per_second < 0) {
    throw_error("engine", fmt::format("copies of {} bytes a second", options.copy_bytes_per_second));
  }
  wait_for_all_before(next_number());
  stop_streams();
  const std::lock_guard lock(front_end_);
  options_ = options;
  if (options_.workers == 0) options_.workers = core_count();
  set_up();
}

EngineFigures Engine::figures() {
  const auto lock = lock_to_look();
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  EngineFigures figures;
  figures.inlined = inlined_;
  figures.operations = static_cast<std::int64_t>(next) - 1 + inlined_;
  figures.queued = static_cast<std::int64_t>(next - ring_.oldest().load(std::memory_order_relaxed));
  figures.peak_queued = peak_queued_;
  figures.frontend_wait_s = waited_s();
  figures.record_bytes = static_cast<std::int64_t>(ring_.slots() * sizeof(Operation) +
                                                   edge_blocks_.size() * edges_in_block * sizeof(FurtherEdge));
  return figures;
}

void Engine::reset_peaks(DeviceState& device) {
  const auto lock = lock_to_look();
  peak_queued_ =
      static_cast<std::int64_t>(next_.load(std::memory_order_relaxed) - ring_.oldest().load(std::memory_order_relaxed));
  device.admission->reset_serial_peak(device.serial_live.total());
  device.serial_since_queued = 0;
  note_level(device);
  device.allocator.reset_peak();
  if (is_dry_run()) dry_run_.reset(device);
}

DryRunReport Engine::dry_run_report(const DeviceState& device) {
  const auto lock = lock_to_look();
  return dry_run_.report(device);
}

void Engine::before_fork() {
  // The child has this thread alone: nothing may be under way, and the lock keeps it so.
  wait_until_idle();
  for (const auto& stream : streams()) stream->crew().hold_still();
  waiters_.hold_still();
}

void Engine::after_fork(bool in_child) {
  waiters_.let_go_on();
  if (in_child) waiters_.forget_threads();
  for (const auto& stream : streams()) {
    stream->crew().let_go_on();
    if (in_child) stream->crew().forget_threads();
  }
  front_end_.unlock();
}

void Engine::at_exit() {
  // Sequentially consistent, before the look at the seats; see start().
  if (exiting_.exchange(true, std::memory_order_seq_cst)) return;
  is_exiting_thread() = true;
  // What has started ends: its threads leave their seats without waiting for anything, and this one runs the tiles that
  // a waiting thread has left behind.
  for (const auto& stream : streams()) {
    const std::uint64_t previous = stream->enter_thread();
    for (Turn turn;;) {
      const bool was_idle = stream->crew().is_idle();
      if ((stream->is_asynchronous() || !stream->run_one(turn)) && was_idle) break;
      std::this_thread::yield();
    }
    stream->leave_thread(previous);
  }
  for (const std::string& message : failures_.undelivered()) {
    fmt::print(stderr, "asyncgrad: an error that no wait has reported: {}\n", message);
  }
}

}  // namespace asyncgrad::detail
