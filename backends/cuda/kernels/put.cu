// Writes elements by their indices.
#include "asyncgrad/backends/cuda/families.h"
#include "asyncgrad/backends/cuda/kernels/for_each.cuh"
#include "asyncgrad/core/backend/place_table.h"

namespace asyncgrad::detail::cuda {

namespace {

// --- put: out, indices (n), in (n). The scratch memory is a table of places 0, …, n - 1. Of those with equal indices it
// --- keeps the last one, in whatever order they come, and the values at the kept ones are written. Nothing is written for
// --- an index out of range, see indexing.cu.

using Kept = unsigned long long;  // for CUDA's atomic functions: 0, or 1 more than the place

struct Clear {
  Kept* kept;

  __device__ void operator()(std::int64_t slot) const { kept[slot] = 0; }
};

struct KeepLast {
  Kept* kept;
  const std::int64_t* indices;
  PlaceTable table;
  std::int64_t elements;

  __device__ void operator()(std::int64_t place) const {
    const std::int64_t index = indices[place];
    if (index < 0 || index >= elements) return;
    const Kept last = static_cast<Kept>(place) + 1;
    std::uint64_t slot = table.first_slot(index);
    for (;; slot = table.next_slot(slot)) {
      const Kept before = atomicCAS(kept + slot, Kept{0}, last);
      if (before == 0) return;
      if (indices[before - 1] == index) break;
    }
    atomicMax(kept + slot, last);
  }
};

template <class T>
struct WriteKept {
  T* out;
  const Kept* kept;
  const std::int64_t* indices;
  const T* in;

  __device__ void operator()(std::int64_t slot) const {
    if (kept[slot] != 0) out[indices[kept[slot] - 1]] = in[kept[slot] - 1];
  }
};

std::int64_t put_scratch_bytes(const KernelCall& call) {
  return static_cast<std::int64_t>(PlaceTable(call.numel(1)).slots * sizeof(Kept));
}

void run_put(const KernelCall& call, int) {
  const auto* const indices = call.data<std::int64_t>(1);
  auto* const kept = reinterpret_cast<Kept*>(call.scratch);
  const PlaceTable table(call.numel(1));
  const auto slots = static_cast<std::int64_t>(table.slots);
  for_each(call, slots, Clear{kept});
  for_each(call, call.numel(1), KeepLast{kept, indices, table, call.numel(0)});
  visit_size(call.dtype(0), [&]<class T>(T) {
    for_each(call, slots, WriteKept<T>{call.data<T>(0), kept, indices, call.data<T>(2)});
  });
}

}  // namespace

constinit const Kernel kernels::put{.run = run_put, .scratch_bytes = put_scratch_bytes};

}  // namespace asyncgrad::detail::cuda
