// Columns of a matrix side by side, for each instruction set. Internal.
#include "asyncgrad/backends/cpu/vectors/rows-inl.h"

#if defined(ASYNCGRAD_COLUMNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ASYNCGRAD_COLUMNS_INL
#undef ASYNCGRAD_COLUMNS_INL
#else
#define ASYNCGRAD_COLUMNS_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "asyncgrad/core/backend/round_up.h"

HWY_BEFORE_NAMESPACE();
namespace asyncgrad::detail::HWY_NAMESPACE {

// A column is summed element by element over so many rows, and the sums of such blocks are added in double.
inline constexpr std::int64_t summed_rows = 64;

// `vectors` vectors of columns side by side, of which a single one may have fewer columns than a vector has lanes. The
// elements of a column are `step` apart.
template <class T, std::size_t vectors>
class Columns {
 public:
  using V = Lanes<T>;
  using Row = V[vectors];  // an element of each column

  Columns(std::int64_t n, std::int64_t step, std::int64_t count) : n_(n), step_(step), count_(count) {}

  HWY_INLINE V load(const T* x, std::size_t v, std::int64_t i) const {
    const T* const from = x + i * step_ + static_cast<std::int64_t>(v) * lanes_of<T>;
    return load_up_to(hn::Zero(d_), from, vectors > 1 ? lanes_of<T> : count_);
  }

  // The largest elements; any of a column with a NaN.
  HWY_INLINE void maximum(const T* x, Row& result) const {
    for (std::size_t v = 0; v < vectors; ++v) result[v] = load(x, v, 0);
    for (std::int64_t i = 1; i < n_; ++i) {
      for (std::size_t v = 0; v < vectors; ++v) result[v] = hn::Max(load(x, v, i), result[v]);
    }
  }

  // The sums of term(v, i), in the order that summed_rows says.
  template <class Term>
  HWY_INLINE void sum(Term term, Row& result) const {
    if (n_ <= summed_rows) return sum(term, 0, n_, result);
    HWY_ALIGN T parts[vectors * VectorMath<T>::lanes];
    double totals[vectors * VectorMath<T>::lanes] = {};
    for (std::int64_t begin = 0; begin < n_; begin += summed_rows) {
      sum(term, begin, std::min(n_, begin + summed_rows), result);
      for (std::size_t v = 0; v < vectors; ++v) hn::Store(result[v], d_, parts + v * VectorMath<T>::lanes);
      for (std::size_t j = 0; j < std::size(parts); ++j) totals[j] += static_cast<double>(parts[j]);
    }
    for (std::size_t j = 0; j < std::size(parts); ++j) parts[j] = static_cast<T>(totals[j]);
    for (std::size_t v = 0; v < vectors; ++v) result[v] = hn::Load(d_, parts + v * VectorMath<T>::lanes);
  }

  // Writes value(v, i) for each element.
  template <class Value>
  HWY_INLINE void put(T* out, Value value) const {
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::size_t v = 0; v < vectors; ++v) store(value(v, i), out, v, i);
    }
  }
  HWY_INLINE void store(V vector, T* out, std::size_t v, std::int64_t i) const {
    T* const to = out + i * step_ + static_cast<std::int64_t>(v) * lanes_of<T>;
    store_up_to(vector, to, vectors > 1 ? lanes_of<T> : count_);
  }

 private:
  template <class Term>
  HWY_INLINE void sum(Term term, std::int64_t begin, std::int64_t end, Row& result) const {
    for (auto& part : result) part = hn::Zero(d_);
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::size_t v = 0; v < vectors; ++v) result[v] = hn::Add(result[v], term(v, i));
    }
  }

  static constexpr hn::ScalableTag<T> d_{};
  std::int64_t n_, step_, count_;
};

// All `count` columns of a matrix of n rows, fewer than a vector has lanes. A group is as many rows as a vector has lanes:
// `count` adjacent vectors, in whose lanes the columns take turns. It has the functions of Columns, and their bits.
template <class T, std::size_t count>
class NarrowColumns {
 public:
  using V = Lanes<T>;
  using Row = V[count];  // for each place in a group the number of its column

  explicit NarrowColumns(std::int64_t n) : n_(n), groups_(divided_up(n, lanes_of<T>)) {}

  // Elements behind the last are those of the first group, which has the same columns there.
  HWY_INLINE V load(const T* x, std::size_t v, std::int64_t group) const {
    const std::int64_t left = n_ * columns - at(v, group);
    if (left >= lanes_of<T>) return hn::LoadU(d_, x + at(v, group));
    const V first = hn::LoadU(d_, x + at(v, 0));
    return left > 0 ? load_up_to(first, x + at(v, group), left) : first;
  }

  HWY_INLINE void maximum(const T* x, Row& result) const {
    for (std::size_t v = 0; v < count; ++v) result[v] = load(x, v, 0);
    for (std::int64_t group = 1; group < groups_; ++group) {
      for (std::size_t v = 0; v < count; ++v) result[v] = hn::Max(load(x, v, group), result[v]);
    }
    HWY_ALIGN T numbers[elements];
    spill(result, numbers);
    T largest[count];
    std::copy_n(numbers, count, largest);
    for (std::size_t i = count; i < elements; ++i) {
      T& known = largest[i % count];
      const bool is_nan = numbers[i] != numbers[i];  // NOLINT(misc-redundant-expression)
      known = is_nan || numbers[i] > known ? numbers[i] : known;
    }
    spread(largest, result);
  }

  template <class Term>
  HWY_INLINE void sum(Term term, Row& result) const {
    static_assert(summed_rows % lanes_of<T> == 0);
    HWY_ALIGN T terms[elements];
    T parts[count] = {};
    double totals[count] = {};
    for (std::int64_t group = 0; group < groups_; ++group) {
      Row of_group;
      for (std::size_t v = 0; v < count; ++v) of_group[v] = term(v, group);
      spill(of_group, terms);
      const std::int64_t first = group * lanes_of<T>, rows = std::min(lanes_of<T>, n_ - first);
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::size_t j = 0; j < count; ++j) parts[j] += terms[static_cast<std::size_t>(row) * count + j];
      }
      if (n_ <= summed_rows || ((first + rows) % summed_rows != 0 && group + 1 < groups_)) continue;
      for (std::size_t j = 0; j < count; ++j) {
        totals[j] += static_cast<double>(parts[j]);
        parts[j] = 0;
      }
    }
    if (n_ > summed_rows) std::transform(totals, totals + count, parts, [](double sum) { return static_cast<T>(sum); });
    spread(parts, result);
  }

  template <class Value>
  HWY_INLINE void put(T* out, Value value) const {
    for (std::int64_t group = 0; group < groups_; ++group) {
      for (std::size_t v = 0; v < count; ++v) store(value(v, group), out, v, group);
    }
  }
  HWY_INLINE void store(V vector, T* out, std::size_t v, std::int64_t group) const {
    const std::int64_t left = n_ * columns - at(v, group);
    if (left > 0) store_up_to(vector, out + at(v, group), left);
  }

 private:
  static constexpr hn::ScalableTag<T> d_{};
  static constexpr std::size_t elements = count * VectorMath<T>::lanes;  // of a group
  static constexpr auto columns = static_cast<std::int64_t>(count);

  static HWY_INLINE std::int64_t at(std::size_t v, std::int64_t group) {
    return (group * columns + static_cast<std::int64_t>(v)) * lanes_of<T>;
  }
  static HWY_INLINE void spill(const Row& row, T* to) {
    for (std::size_t v = 0; v < count; ++v) hn::Store(row[v], d_, to + v * VectorMath<T>::lanes);
  }
  static HWY_INLINE void spread(const T (&of_columns)[count], Row& row) {
    HWY_ALIGN T numbers[elements];
    for (std::size_t i = 0; i < elements; ++i) numbers[i] = of_columns[i % count];
    for (std::size_t v = 0; v < count; ++v) row[v] = hn::Load(d_, numbers + v * VectorMath<T>::lanes);
  }

  std::int64_t n_, groups_;
};

}  // namespace asyncgrad::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASYNCGRAD_COLUMNS_INL
