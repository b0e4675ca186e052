#include "exports.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::python {

namespace {

std::int64_t bytes_of(const Shape& shape, DType dtype) {
  return shape.numel() * static_cast<std::int64_t>(size_bytes(dtype));
}

}  // namespace

// By their addresses. Views of one tensor may overlap.
struct Export::All {
  All() { detail::ForkLocks::add(mutex, detail::ForkLocks::Kind::innermost); }
  detail::Mutex mutex;
  Places places ASYNCGRAD_GUARDED_BY(mutex);
  std::int64_t most_bytes ASYNCGRAD_GUARDED_BY(mutex) = 0;  // of one tensor since there was none
};

// Never destroyed, because some arrays end at exit.
Export::All& Export::all() {
  static All* const all = new All;
  return *all;
}

Export::Export(Tensor tensor, void* data) : tensor_(std::move(tensor)) {
  const detail::MutexLock lock(all().mutex);
  place_ = all().places.emplace(data, this);
  all().most_bytes = std::max(all().most_bytes, bytes_of(tensor_.shape(), tensor_.dtype()));
}

Export::~Export() {
  const detail::MutexLock lock(all().mutex);
  all().places.erase(place_);
  if (all().places.empty()) all().most_bytes = 0;
}

std::optional<Tensor> exported_tensor(const void* data, DType dtype, const Shape& shape) {
  std::optional<Tensor> whole;
  std::int64_t offset = 0;  // bytes
  if (shape.numel() > 0) {
    Export::All& all = Export::all();
    const detail::MutexLock lock(all.mutex);
    // The nearest that begins before the values, or with them, and ends after them. None does that
    // begins further before them than the largest is long.
    for (auto place = all.places.upper_bound(data); !whole && place != all.places.begin();) {
      const auto& [address, exported] = *--place;
      const Tensor& tensor = exported->tensor_;
      offset = static_cast<const std::byte*>(data) - static_cast<const std::byte*>(address);
      if (offset >= all.most_bytes) break;
      const bool fits = tensor.dtype() == dtype && offset % static_cast<std::int64_t>(size_bytes(dtype)) == 0 &&
                        offset + bytes_of(shape, dtype) <= bytes_of(tensor.shape(), dtype);
      if (fits) whole = tensor;
    }
  }
  if (!whole) return std::nullopt;
  const Tensor values = whole->detach();
  if (values.shape() == shape) return values;
  const std::int64_t first = offset / static_cast<std::int64_t>(size_bytes(dtype));
  return values.reshape({-1}).slice(first, first + shape.numel()).reshape(shape);
}

}  // namespace asyncgrad::python
