// Reads and writes elements that do not fill a vector, for each instruction set. Internal.
#include <hwy/highway.h>

#if defined(ASYNCGRAD_PARTIAL_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_PARTIAL_VECTORS_INL
#undef ASYNCGRAD_PARTIAL_VECTORS_INL
#else
#define ASYNCGRAD_PARTIAL_VECTORS_INL
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// True if one instruction reads or writes a part of a vector and touches nothing else.
constexpr bool has_masked_memory = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

// The elements of a vector.
template <class T>
inline constexpr auto lanes_of = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

// Loads `count` elements, fewer than a vector has lanes, and those of `others` for the rest; `lanes` has room for a
// vector.
template <class T, class V>
HWY_INLINE V load_part_of(V others, const T* elements, std::int64_t count, T* lanes) {
  const hn::ScalableTag<T> d;
  if constexpr (has_masked_memory) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, elements), others);
  } else {
    hn::Store(others, d, lanes);
    for (std::int64_t j = 0; j < count; ++j) lanes[j] = elements[j];
    return hn::Load(d, lanes);
  }
}
// Does the same, with 1 for the rest.
template <class T>
HWY_INLINE auto load_part(const T* elements, std::int64_t count, T* lanes) {
  return load_part_of(hn::Set(hn::ScalableTag<T>(), T{1}), elements, count, lanes);
}

// Stores the first `count` lanes.
template <class T, class V>
HWY_INLINE void store_part(V vector, T* elements, std::int64_t count, T* lanes) {
  const hn::ScalableTag<T> d;
  if constexpr (has_masked_memory) {
    hn::BlendedStore(vector, hn::FirstN(d, static_cast<std::size_t>(count)), d, elements);
  } else {
    hn::Store(vector, d, lanes);
    for (std::int64_t j = 0; j < count; ++j) elements[j] = lanes[j];
  }
}

// These do so with a vector or, where fewer elements are left than it has lanes, with a part of one.
template <class T, class V>
HWY_INLINE V load_up_to(V others, const T* from, std::int64_t left) {
  if (left >= lanes_of<T>) return hn::LoadU(hn::ScalableTag<T>(), from);
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  return load_part_of(others, from, left, lanes);
}
template <class T>
HWY_INLINE auto load_up_to(const T* from, std::int64_t left) {
  return load_up_to(hn::Set(hn::ScalableTag<T>(), T{1}), from, left);
}
template <class T, class V>
HWY_INLINE void store_up_to(V vector, T* to, std::int64_t left) {
  if (left >= lanes_of<T>) return hn::StoreU(vector, hn::ScalableTag<T>(), to);
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  store_part(vector, to, left, lanes);
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_PARTIAL_VECTORS_INL
