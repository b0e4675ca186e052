// Access to several elements at once, and functions of all elements of tensors that are laid out alike. Internal.
#pragma once

#include <cstdint>
#include <utility>

#include "asyncgrad/backends/cuda/kernels/for_each.cuh"

namespace asyncgrad::detail::cuda {

// The elements that one access moves.
template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T x[size];
};

// Adjacent elements, which as few accesses as possible move.
template <class T, int count>
struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Elements {
  T x[count];
};

// The packs of a tensor. The last one may be cut short.
template <class T>
std::int64_t packs_of(std::int64_t numel) {
  return (numel + Pack<T>::size - 1) / Pack<T>::size;
}

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

// The i-th of stretches of `count` elements.
template <int count, class T>
__device__ const Elements<T, count>& elements_at(const T* data, std::int64_t i) {
  return reinterpret_cast<const Elements<T, count>*>(data)[i];
}
template <int count, class T>
__device__ Elements<T, count>& elements_at(T* data, std::int64_t i) {
  return reinterpret_cast<Elements<T, count>*>(data)[i];
}

// A map has
//   begin(first) -> State             of a pack, whose first element is `first`
//   value(State&, in…) -> T           of its elements, one after another
// Every element is read before the result is written in its place, so that `out` may be one of the inputs.
template <class Map, class T, int inputs>
struct MapPack {
  Map map;
  T* out;
  const T* in[inputs];
  std::int64_t numel;
  bool are_aligned;

  __device__ void operator()(std::int64_t pack) const { run(pack, std::make_index_sequence<inputs>()); }

 private:
  template <std::size_t... K>
  __device__ void run(std::int64_t pack, std::index_sequence<K...>) const {
    constexpr int size = Pack<T>::size;
    const std::int64_t first = pack * size;
    auto state = map.begin(first);
    if (are_aligned && first + size <= numel) {
      const Pack<T> packs[] = {pack_at(in[K], pack)...};
      Pack<T> result;
      for (int j = 0; j < size; ++j) result.x[j] = map.value(state, packs[K].x[j]...);
      pack_at(out, pack) = result;
      return;
    }
    for (std::int64_t i = first; i < numel && i < first + size; ++i) out[i] = map.value(state, in[K][i]...);
  }
};

// out = map(in…), element by element.
template <class Map, class T, class... In>
void map_packs(const KernelCall& call, std::int64_t numel, const Map& map, T* out, const In*... in) {
  constexpr int inputs = sizeof...(In);
  for_each(call, packs_of<T>(numel),
           MapPack<Map, T, inputs>{
               map, out, {in...}, numel, is_aligned_for_packs(out) && (is_aligned_for_packs(in) && ...)});
}

}  // namespace asyncgrad::detail::cuda
