#include "asyncgrad/core/engine/engine.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "asyncgrad/core/engine.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory.h"
#include "asyncgrad/core/tensor_impl.h"

namespace asyncgrad::detail {

struct DeviceState {
  const Backend* backend;
};

DeviceState& device_state(Device device) {
  static DeviceState state{make_backend(DeviceType::cpu)};
  if (device.type != DeviceType::cpu) throw_error("device", "no such device");
  return state;
}

Storage* make_storage(std::int64_t size_bytes, DeviceState& device) {
  return new Storage{.references = Storage::one_handle, .size_bytes = rounded_bytes(size_bytes), .device = &device};
}
void add_handle(Storage& storage) { storage.references += Storage::one_handle; }
void drop_handle(Storage& storage) {
  if ((storage.references -= Storage::one_handle) == 0) {
    std::free(storage.data);
    delete &storage;
  }
}

namespace {
void take(Storage& storage) {
  if (storage.data == nullptr && storage.size_bytes > 0) {
    storage.data = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(storage.size_bytes)));
  }
}
std::int64_t operation_count = 0;
}  // namespace

Engine& Engine::get() {
  static Engine engine;
  return engine;
}

void Engine::submit(Op op, std::span<const OperandRef> refs, const void* attributes, std::size_t, Location) {
  const Backend& backend = *device_state(Device{}).backend;
  const Kernel& kernel = op == Op::elementwise
                             ? backend.elementwise[static_cast<const ElementwiseAttributes*>(attributes)->formula]
                             : backend.kernels[static_cast<std::size_t>(op)];
  if (kernel.run == nullptr) throw_error(op_name(op, attributes), "has no kernel for cpu");
  ++operation_count;
  std::vector<Operand> operands;
  for (const OperandRef& ref : refs) {
    const TensorImpl& impl = *ref.tensor.impl();
    if (ref.access != Access::read) {
      take(*impl.storage);
      ++impl.storage->version;
    }
    operands.push_back({impl.storage, impl.offset_bytes, impl.shape, impl.dtype, ref.access});
  }
  KernelCall call{operands.data(), static_cast<int>(operands.size()), attributes};
  void* scratch = nullptr;
  if (kernel.scratch_bytes != nullptr) {
    scratch = std::aligned_alloc(64, static_cast<std::size_t>(rounded_bytes(kernel.scratch_bytes(call) + 64)));
    call.scratch = static_cast<std::byte*>(scratch);
  }
  const std::uint64_t previous = backend.enter_thread ? backend.enter_thread() : 0;
  if (kernel.prepare) kernel.prepare(call);
  const int tiles = kernel.tiles ? kernel.tiles(call) : 1;
  for (int tile = 0; tile < tiles; ++tile) kernel.run(call, tile);
  if (backend.leave_thread) backend.leave_thread(previous);
  std::free(scratch);
}

void Engine::wait(Storage&) {}

void Engine::hand_over(Storage& storage, const void* values, std::size_t size_bytes, Location) {
  take(storage);
  if (size_bytes > 0) std::memcpy(storage.data, values, size_bytes);
}

void submit_bytes(Op op, std::span<const OperandRef> operands, const void* attributes, std::size_t size_bytes,
                  Location where) {
  Engine::get().submit(op, operands, attributes, size_bytes, where);
}

}  // namespace asyncgrad::detail

namespace asyncgrad {
void set_engine_options(const EngineOptions&) {}
EngineOptions engine_options() { return {.workers = 2, .schedule = Schedule::immediate}; }
void Mark::wait() const {}
Mark mark() { return Mark(0); }
void wait_all() {}
int recover() { return 0; }
EngineFigures engine_figures() { return {.operations = detail::operation_count}; }
MemoryFigures memory_figures(Device) { return {}; }
void reset_peaks(Device) {}
void trim_cache(Device) {}
std::int64_t resident_bytes() { return 0; }
struct LiveBytesTimeline::Recorder {};
LiveBytesTimeline::LiveBytesTimeline(Device device, int) : device_(device) {}
LiveBytesTimeline::~LiveBytesTimeline() = default;
std::vector<LiveBytesTimeline::Sample> LiveBytesTimeline::samples() const { return {}; }
}  // namespace asyncgrad
