// Elements that one access moves. Internal.
#pragma once

#include <cstdint>

namespace asyncgrad::detail::cuda {

template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T x[size];
};

template <class T>
bool is_aligned_for_packs(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Pack<T>) == 0;
}

// The i-th pack of elements that lie on a pack's bounds.
template <class T>
__device__ const Pack<T>& pack_at(const T* data, std::int64_t i) {
  return reinterpret_cast<const Pack<T>*>(data)[i];
}
template <class T>
__device__ Pack<T>& pack_at(T* data, std::int64_t i) {
  return reinterpret_cast<Pack<T>*>(data)[i];
}

}  // namespace asyncgrad::detail::cuda
