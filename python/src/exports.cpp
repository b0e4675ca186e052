#include "exports.h"

#include <cstddef>
#include <utility>

#include "asyncgrad/core/sync/fork_locks.h"
#include "asyncgrad/core/sync/mutex.h"

namespace asyncgrad::python {

// By their addresses. Views of one tensor may overlap.
struct Export::All {
  All() { detail::ForkLocks::add(mutex, detail::ForkLocks::Kind::innermost); }
  detail::Mutex mutex;
  Places places ASYNCGRAD_GUARDED_BY(mutex);
};

// Never destroyed, because some arrays end at exit.
Export::All& Export::all() {
  static All* const all = new All;
  return *all;
}

Export::Export(Tensor tensor, void* data) : tensor_(std::move(tensor)) {
  const detail::MutexLock lock(all().mutex);
  place_ = all().places.emplace(data, this);
}

Export::~Export() {
  const detail::MutexLock lock(all().mutex);
  all().places.erase(place_);
}

std::optional<Tensor> exported_tensor(const void* data, DType dtype, const Shape& shape) {
  const auto bytes_of = [](const Shape& values, DType type) {
    return values.numel() * static_cast<std::int64_t>(size_bytes(type));
  };
  std::optional<Tensor> whole;
  std::int64_t offset = 0;  // bytes
  if (shape.numel() > 0) {
    Export::All& all = Export::all();
    const detail::MutexLock lock(all.mutex);
    // The nearest that begins before the values, or with them, and ends after them.
    for (auto place = all.places.upper_bound(data); !whole && place != all.places.begin();) {
      const auto& [address, exported] = *--place;
      const Tensor& tensor = exported->tensor_;
      offset = static_cast<const std::byte*>(data) - static_cast<const std::byte*>(address);
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
