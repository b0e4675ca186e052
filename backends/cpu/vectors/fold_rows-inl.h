// Folds many vectors at once, for each instruction set. Internal.
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

#if defined(ASYNCGRAD_FOLD_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_FOLD_ROWS_INL
#undef ASYNCGRAD_FOLD_ROWS_INL
#else
#define ASYNCGRAD_FOLD_ROWS_INL
#endif

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

// Folds each part of `part` lanes of x and of y in halves: combine(lower half, upper half). In the result the folded parts
// of x and y take turns; those of whole vectors stand behind each other.
template <std::size_t part, class D, class V, class Combine>
HWY_INLINE V fold_parts(D d, V x, V y, Combine combine) {
  using T = hn::TFromD<D>;
  constexpr std::size_t lanes = hn::MaxLanes(d), block = 16 / sizeof(T);
  if constexpr (part == lanes && part > block) {
    return combine(hn::ConcatLowerLower(d, y, x), hn::ConcatUpperUpper(d, y, x));
  } else if constexpr (part > block) {
    return combine(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y), x), hn::OddEvenBlocks(y, hn::SwapAdjacentBlocks(x)));
  } else if constexpr (part * sizeof(T) == 16) {
    const hn::Repartition<double, D> wide;
    const auto a = hn::BitCast(wide, x), b = hn::BitCast(wide, y);
    return combine(hn::BitCast(d, hn::InterleaveLower(wide, a, b)), hn::BitCast(d, hn::InterleaveUpper(wide, a, b)));
  } else {
    return combine(hn::OddEven(hn::Shuffle2301(y), x), hn::OddEven(y, hn::Shuffle2301(x)));
  }
}

// Folds each of as many vectors as one has lanes. Lane i of the result is what fold_lanes() makes of rows[i]; the rest of
// `rows` is overwritten.
template <std::size_t part, class D, class V, class Combine>
HWY_INLINE V fold_each(D d, V* rows, Combine combine) {
  if constexpr (part == 1) {
    return rows[0];
  } else {
    for (std::size_t i = 0; i < part / 2; ++i) rows[i] = fold_parts<part>(d, rows[i], rows[i + part / 2], combine);
    return fold_each<part / 2>(d, rows, combine);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// out[i] = the fold of vector_of(i), for i < count.
template <class T, class VectorOf, class Combine>
HWY_INLINE void fold_rows(std::int64_t count, VectorOf vector_of, Combine combine, T* out) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t i = 0; i < count; ++i) out[i] = fold_lanes(d, vector_of(i), combine);
#else
  constexpr std::size_t lanes = VectorMath<T>::lanes;
  std::int64_t first = 0;
  for (; first + lanes_of<T> <= count; first += lanes_of<T>) {
    Lanes<T> rows[lanes];
    for (std::size_t i = 0; i < lanes; ++i) rows[i] = vector_of(first + static_cast<std::int64_t>(i));
    hn::StoreU(fold_each<lanes>(d, rows, combine), d, out + first);
  }
  for (; first < count; ++first) out[first] = fold_lanes(d, vector_of(first), combine);
#endif
}

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_FOLD_ROWS_INL
