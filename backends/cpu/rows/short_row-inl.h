// Rows that stay in registers, for each instruction set. Internal.
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

#if defined(ASYNCGRAD_SHORT_ROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_SHORT_ROW_INL
#undef ASYNCGRAD_SHORT_ROW_INL
#else
#define ASYNCGRAD_SHORT_ROW_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// The most vectors of a row that is kept in registers. Where a vector has one lane, such rows are turned.
inline constexpr std::size_t most_row_vectors = HWY_TARGET == HWY_SCALAR ? 1 : 16;

// A row of `vectors` vectors, which stays in registers; its last vector may have fewer elements than lanes. What it folds
// has the bits that rows-inl.h says.
template <class T, std::size_t vectors>
class ShortRow {
 public:
  using V = Lanes<T>;

  explicit ShortRow(std::int64_t n) : last_(n - static_cast<std::int64_t>(vectors - 1) * lanes_of<T>) {}

  // `others` stands for the elements after the row's end.
  HWY_INLINE void load(const T* x, V others, V (&row)[vectors]) const {
    for (std::size_t v = 0; v + 1 < vectors; ++v) row[v] = hn::LoadU(d_, x + v * VectorMath<T>::lanes);
    row[vectors - 1] = load_up_to(others, x + (vectors - 1) * VectorMath<T>::lanes, last_);
  }
  HWY_INLINE void store(const V (&row)[vectors], T* out) const {
    for (std::size_t v = 0; v + 1 < vectors; ++v) hn::StoreU(row[v], d_, out + v * VectorMath<T>::lanes);
    store_up_to(row[vectors - 1], out + (vectors - 1) * VectorMath<T>::lanes, last_);
  }
  // One vector, whose lanes are still to be folded.
  template <class Combine>
  static HWY_INLINE V fold_vectors(const V (&row)[vectors], Combine combine) {
    constexpr std::size_t running = std::min(vectors, running_vectors<T>);
    V folded[running];
    for (std::size_t v = 0; v < running; ++v) folded[v] = row[v];
    for (std::size_t v = running; v < vectors; ++v) folded[v % running] = combine(folded[v % running], row[v]);
    std::size_t count = running;
    for (std::size_t width = running_vectors<T> / 2; width > 0; width /= 2) {
      for (std::size_t v = 0; v + width < count; ++v) folded[v] = combine(folded[v], folded[v + width]);
      count = std::min(count, width);
    }
    return folded[0];
  }
  template <class Combine>
  static HWY_INLINE T fold(const V (&row)[vectors], Combine combine) {
    return fold_lanes(d_, fold_vectors(row, combine), combine);
  }

  // Running sums begin with 0, to which -0 adds nothing.
  static HWY_INLINE V sum_vectors(const V (&row)[vectors]) {
    V terms[vectors];
    for (std::size_t v = 0; v < vectors; ++v) terms[v] = hn::Add(row[v], hn::Zero(d_));
    return fold_vectors(terms, AddLanes());
  }
  static HWY_INLINE T sum(const V (&row)[vectors]) { return fold_lanes(d_, sum_vectors(row), AddLanes()); }

 private:
  static constexpr hn::ScalableTag<T> d_{};
  std::int64_t last_;
};

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_SHORT_ROW_INL
