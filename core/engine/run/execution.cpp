#include "asyncgrad/core/engine/run/execution.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <typeinfo>
#include <utility>

#include "asyncgrad/core/error.h"
#include "asyncgrad/core/memory/abandoned.h"
#include "asyncgrad/core/sync/at_thread_end.h"
#include "asyncgrad/core/wait_hooks.h"

namespace asyncgrad::detail {

namespace {

DeviceState& device_of(const Invocation& invocation) { return state_of(*invocation.operands[0].storage); }

bool overwrites_whole(const Storage& storage, const View& view) {
  return view.access == Access::write && fills(storage, view.shape, view.dtype);
}

void note_holder(const Invocation& invocation, const Storage& storage, const Shape& shape) {
  storage.device->holders.note(storage, {.operation = op_name(invocation.op, invocation.attributes),
                                         .shape = shape,
                                         .origin = invocation.origin == nullptr ? Origin{} : *invocation.origin});
}

// Gives back the memory that the first `count` operands took for operation `number`.
void give_back_memory(const Invocation& invocation, int count, std::uint64_t number) {
  for (int i = 0; i < count; ++i) {
    Storage& storage = *invocation.operands[i].storage;
    if (storage.data == nullptr || invocation.views[i].access == Access::read || storage.taken_by != number) continue;
    give_back_memory_of(storage);
    storage.device->holders.remove(storage);
    storage.data = nullptr;
  }
}

// The memory for which the operation has asked. Its results have theirs already if its workspace or its kernel was
// refused memory.
std::string wanted_memory(const Invocation& invocation) {
  const std::int64_t results = bytes_to_take(invocation), scratch = scratch_bytes(invocation);
  if (results == 0) {
    return scratch == 0 ? "the system refused what the kernel asked for"
                        : fmt::format("{} bytes of workspace were asked for", scratch);
  }
  return fmt::format("{} bytes{} were asked for{}", results,
                     invocation.operands[0].storage->is_pinned ? " of pinned memory" : "",
                     scratch == 0 ? "" : fmt::format(" and {} of workspace", scratch));
}

std::string out_of_memory(const Invocation& invocation) {
  const Allocator::Figures figures = device_of(invocation).allocator.figures();
  return fmt::format("out of memory: {}, {} live, {} cached{}", wanted_memory(invocation), figures.live_bytes,
                     figures.cached_bytes, device_of(invocation).holders.str());
}

// The message and the kind of the exception that is being handled.
struct Cause {
  std::string what;
  ErrorKind kind;
  bool is_dropped = false;  // another failure reports the same cause
};
Cause current_cause(const Invocation& invocation) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {out_of_memory(invocation), ErrorKind::memory};
  } catch (const Dropped& error) {
    return {error.what(), error.kind(), /*is_dropped=*/true};
  } catch (const Error& error) {
    return {error.what(), error.kind()};
  } catch (const std::exception& error) {
    const char* const what = error.what();  // a program's own type may say nothing, or even give null
    const bool is_silent = what == nullptr || *what == '\0';
    return {is_silent ? fmt::format("failed with an exception without a message, {}", typeid(error).name()) : what,
            ErrorKind::value};
  } catch (...) {
    return {"failed for an unknown reason", ErrorKind::value};
  }
}

// A thread's scratch memory. It has no destructor: at the end of the process the first thread still helps with tiles
// after its own objects have ended.
class Arena {
 public:
  std::byte* at_least(DeviceState& device, std::int64_t size_bytes) {
    if (size_bytes > size_bytes_ || device_ != &device) reset(&device, rounded_bytes(size_bytes));
    return block_;
  }
  static void end(void* arena) { static_cast<Arena*>(arena)->reset(nullptr, 0); }
  // It stays in the device's figure.
  void abandon() {
    if (block_ != nullptr) note_abandoned(block_);
    block_ = nullptr;
    size_bytes_ = 0;
    device_ = nullptr;
  }

 private:
  void reset(DeviceState* device, std::int64_t size_bytes) {
    static const AtThreadEnd at_end(&end);
    if (device_ != nullptr) device_->workspace.fetch_sub(size_bytes_, std::memory_order_relaxed);
    std::free(block_);
    block_ = nullptr;
    size_bytes_ = 0;
    device_ = device;
    if (size_bytes == 0) return;
    block_ = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(size_bytes)));
    if (block_ == nullptr) throw std::bad_alloc();
    size_bytes_ = size_bytes;
    device->workspace.fetch_add(size_bytes, std::memory_order_relaxed);
    at_end.ask(this);
  }

  DeviceState* device_ = nullptr;
  std::byte* block_ = nullptr;
  std::int64_t size_bytes_ = 0;
};

constinit thread_local Arena arena;

}  // namespace

Failure* first_cause(const Invocation& invocation, Failures& failures) {
  Failure* first = nullptr;
  for (int i = 0; i < invocation.operand_count; ++i) {
    const Storage& storage = *invocation.operands[i].storage;
    const bool matters = storage.is_poisoned() && !overwrites_whole(storage, invocation.views[i]);
    if (matters) first = failures.older_cause(storage, first);
  }
  return first;
}

void take_memory(const Invocation& invocation, std::uint64_t number) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    const View& view = invocation.views[i];
    if (!lacks_memory(invocation.operands[i], view.access)) continue;
    Storage& storage = *invocation.operands[i].storage;
    try {
      take_memory_of(storage, number);
      if (storage.size_bytes >= Holders::min_bytes) note_holder(invocation, storage, view.shape);
    } catch (...) {
      give_back_memory(invocation, i + 1, number);  // all or nothing
      throw;
    }
  }
}

std::byte* scratch(DeviceState& device, std::int64_t size_bytes) { return arena.at_least(device, size_bytes); }
void abandon_scratch() { arena.abandon(); }

void InOperation::throw_forbidden(const char* what) {
  throw_error("engine", fmt::format("{} inside an operation might wait for that operation", what));
}

Failure* add_current_failure(const Invocation& invocation, std::uint64_t number, Failures& failures) noexcept {
  try {
    const auto [what, kind, is_dropped] = current_cause(invocation);
    auto parts = std::make_shared<Error::Parts>();
    parts->operation = op_name(invocation.op, invocation.attributes);
    const std::string tag = fmt::format("[{}] ", parts->operation);
    parts->message = what.starts_with(tag) ? what.substr(tag.size()) : what;
    const Origin& origin = *invocation.origin;
    if (origin.where.file != nullptr) parts->file = origin.where.file;
    parts->line = origin.where.line;
    parts->layer = layer_path_name(origin.path);
    parts->cause = kind;
    std::string shapes;
    for (const View& view : invocation.all_views()) append_operand(shapes, view.access, view.shape);
    std::string message =
        fmt::format("{}{}\n  operands: {}\n  queued at {}", tag, parts->message, shapes, origin.str());
    Failure* const failure = origin.is_again ? failures.add_again(number, std::move(message), std::move(parts))
                                             : failures.add(number, std::move(message), std::move(parts));
    if (is_dropped) failures.forget(*failure);
    return failure;
  } catch (...) {
    return failures.add(number, "");  // there is no memory to say what
  }
}

void settle(const Invocation& invocation, Failure* failure, bool started, Failures& failures) {
  for (int i = 0; i < invocation.operand_count; ++i) {
    const View& view = invocation.views[i];
    if (view.access == Access::read) continue;
    Storage& storage = *invocation.operands[i].storage;
    if (failure == nullptr) {
      storage.has_value = true;
      if (storage.is_poisoned() && overwrites_whole(storage, view)) failures.cure(storage);
    } else {
      const bool is_old_value = storage.has_value && !started && view.access != Access::finish;
      failures.poison(storage, *failure, is_old_value);
      storage.has_value = is_old_value;
    }
  }
}

void release_operands(const Invocation& invocation) {
  for (const Operand& operand : invocation.all_operands()) drop_use(*operand.storage);
}

}  // namespace asyncgrad::detail
