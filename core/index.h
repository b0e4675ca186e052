// Indices of a tensor's axes, written as in Python: `x(ag::all, ag::range(1, 4), -1)` is x[:, 1:4, -1].
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "asyncgrad/core/scalar.h"

namespace asyncgrad {

// What is taken of one axis: an element, whose axis the result lacks, or a range of elements. Or a mark of its own: all
// axes that no other index names, or a new axis. Negative positions count from the end. See Tensor::operator().
class Index {
 public:
  enum class Kind : std::uint8_t { none, position, range, ellipsis, newaxis };

  Index() = default;  // stands for no index
  // Throws Error for an integer that int64 cannot hold.
  template <std::integral T>
  requires(!std::same_as<T, bool>) Index(T position)  // NOLINT(google-explicit-constructor): for `x(0)`
      : kind_(Kind::position), begin_(Scalar(position).as_int64()) {}
  // For the names all, ellipsis and newaxis without parentheses.
  Index(Index (*named)()) : Index(named()) {}  // NOLINT(google-explicit-constructor)

  Kind kind() const { return kind_; }
  // The position, or where a range begins; nothing: at its first element.
  std::optional<std::int64_t> begin() const { return begin_; }
  std::optional<std::int64_t> end() const { return end_; }  // nothing: behind its last element
  std::int64_t step() const { return step_; }
  bool is_whole() const { return kind_ == Kind::range && !begin_ && !end_ && step_ == 1; }

 private:
  friend Index range(std::optional<std::int64_t> begin, std::optional<std::int64_t> end, std::int64_t step);
  friend Index ellipsis();
  friend Index newaxis();
  explicit Index(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::none;
  std::optional<std::int64_t> begin_, end_;
  std::int64_t step_ = 1;
};

// The elements begin, begin + step, … before `end`, as Python's begin:end:step; {} leaves a bound open. A negative step
// goes backwards: range({}, {}, -1) is all elements in the opposite order.
inline Index range(std::optional<std::int64_t> begin, std::optional<std::int64_t> end, std::int64_t step = 1) {
  Index index(Index::Kind::range);
  index.begin_ = begin;
  index.end_ = end;
  index.step_ = step;
  return index;
}
inline Index all() { return range({}, {}); }                      // a whole axis: Python's `:`
inline Index ellipsis() { return Index(Index::Kind::ellipsis); }  // all axes that no other index names: `...`
inline Index newaxis() { return Index(Index::Kind::newaxis); }    // an axis of extent 1: `None`

}  // namespace asyncgrad
