// The shape of a tensor.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace asyncgrad {

// Contiguous values: a std::vector, std::array, std::span or C array. It does without <ranges>, which takes as long to
// compile as all of asyncgrad.h.
template <class Range>
concept Contiguous = requires(const Range& range) {
  { std::data(range) + std::size(range) } -> std::same_as<decltype(std::data(range))>;
};
template <Contiguous Range>
using ElementOf = std::remove_cvref_t<decltype(*std::data(std::declval<const Range&>()))>;

// A list of integers whose length is known at run time.
template <class Range>
concept Extents = Contiguous<Range> && std::integral<ElementOf<Range>> && !std::same_as<ElementOf<Range>, bool> &&
                  !std::same_as<ElementOf<Range>, char>;

// The extents of a tensor's axes, outermost first. A Shape allocates nothing; {} is the shape of a scalar. It can be
// made of any mix of integer types: `Shape{batch.size(), 512}`.
class Shape {
 public:
  static constexpr int max_rank = 6;

  constexpr Shape() = default;

  // Throws Error for a negative extent, an extent that int64 cannot hold, more than max_rank axes, or 2^63 elements and
  // more.
  template <std::integral... Extent>
  requires(sizeof...(Extent) > 0 && (!std::same_as<Extent, bool> && ...))
      Shape(Extent... extents) {  // NOLINT(google-explicit-constructor): `zeros({2, 3})` is the point
    static_assert(sizeof...(Extent) <= max_rank, "a tensor has at most six axes");
    (append(checked(extents)), ...);
  }
  // A shape made at run time: a std::vector, std::array or std::span of any integer type. Throws the same.
  template <Extents Range>
  Shape(const Range& extents) {  // NOLINT(google-explicit-constructor): `zeros(extents)`
    for (const auto extent : extents) append(checked(extent));
  }

  int rank() const { return static_cast<int>(rank_); }
  // The extent of an axis; negative axes count from the end. Throws Error for an axis that does not exist.
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(checked_axis(axis))]; }
  std::int64_t numel() const { return numel_; }
  // The product of the extents of the axes from `begin` to before `end`: 0 <= begin, end <= rank(). 1 if there are
  // none.
  std::int64_t numel(int begin, int end) const {
    std::int64_t product = 1;
    for (int axis = begin; axis < end; ++axis) product *= extents_[static_cast<std::size_t>(axis)];
    return product;
  }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }

  // The axis counted from the front: -1 becomes rank() - 1. Throws Error for an axis that does not exist.
  int checked_axis(int axis) const {
    const int from_front = axis < 0 ? axis + rank() : axis;
    if (from_front < 0 || from_front >= rank()) throw_bad_axis(axis);
    return from_front;
  }

  // Appends an innermost axis. Throws as the constructor does.
  void append(std::int64_t extent);
  // This shape with the extent of one axis replaced. Throws for the axis as operator[] does, for the extent as the
  // constructor does.
  Shape with(int axis, std::int64_t extent) const;

  // "(1024, 512)"; a scalar is "()".
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank(); ++i) {
      if (a.extents_[static_cast<std::size_t>(i)] != b.extents_[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  }

 private:
  friend class NewShape;

  template <std::integral Extent>
  static std::int64_t checked(Extent extent) {
    if (!std::in_range<std::int64_t>(extent)) throw_too_large();
    return static_cast<std::int64_t>(extent);
  }
  [[noreturn]] static void throw_too_large();
  [[noreturn]] void throw_bad_axis(int axis) const;

  std::array<std::int64_t, max_rank> extents_{};
  std::int64_t numel_ = 1;
  std::int64_t rank_ = 0;  // as wide as the rest: a copy is four or eight whole moves
};

// A shape whose elements are counted already. One of its extents may be -1, which stands for the one that they fill:
// `x.reshape({-1, 512})`.
class NewShape {
 public:
  NewShape() = default;
  NewShape(const Shape& shape) : shape_(shape) {}  // NOLINT(google-explicit-constructor)
  template <Extents Range>
  NewShape(const Range& extents) {  // NOLINT(google-explicit-constructor): `x.reshape(extents)`
    for (const auto extent : extents) append(Shape::checked(extent));
  }
  // Throws Error as Shape does, and for -1 twice.
  template <std::integral... Extent>
  requires(sizeof...(Extent) > 0 && (!std::same_as<Extent, bool> && ...))
      NewShape(Extent... extents) {  // NOLINT(google-explicit-constructor): `x.reshape({-1, 3})` is the point
    static_assert(sizeof...(Extent) <= Shape::max_rank, "a tensor has at most six axes");
    (append(Shape::checked(extents)), ...);
  }

  // The shape in which the elements of `from` lie. Throws Error, naming `operation`, unless there is exactly one.
  Shape of(const Shape& from, const char* operation) const;
  // "(-1, 512)".
  std::string str() const;

 private:
  void append(std::int64_t extent);

  Shape shape_;      // with 1 in place of -1
  int filled_ = -1;  // the axis of -1
};

}  // namespace asyncgrad
