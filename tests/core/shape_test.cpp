#include "asyncgrad/core/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <vector>

#include "tests/support/message_of.h"

namespace asyncgrad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(Shape, OfAScalarHasNoAxisAndOneElement) {
  const Shape scalar;
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.str(), "()");
}

TEST(Shape, TakesAnyMixOfIntegers) {
  const std::vector<int> rows(3);
  const Shape shape{rows.size(), 4, std::int64_t{5}, static_cast<unsigned char>(6), short{7}};
  EXPECT_THAT(std::vector<std::int64_t>(shape.begin(), shape.end()), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_EQ(shape.numel(), 3 * 4 * 5 * 6 * 7);
  EXPECT_EQ(shape.str(), "(3, 4, 5, 6, 7)");
}

TEST(Shape, CountsAxesFromBothEnds) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_EQ(shape.checked_axis(-2), 1);
  EXPECT_EQ(message_of([&] { static_cast<void>(shape[3]); }),
            "[shape] there is no axis 3 in (2, 3, 4); axes are -3 to 2");
  EXPECT_EQ(message_of([&] { static_cast<void>(shape[-4]); }),
            "[shape] there is no axis -4 in (2, 3, 4); axes are -3 to 2");
  EXPECT_EQ(message_of([] { static_cast<void>(Shape()[0]); }), "[shape] there is no axis 0 in (); a scalar has none");
}

TEST(Shape, RefusesExtentsWithoutSense) {
  EXPECT_EQ(message_of([] { Shape{2, -1}; }), "[shape] negative extent -1 of axis 1");
  EXPECT_THAT(message_of([] { Shape{std::numeric_limits<std::size_t>::max()}; }), HasSubstr("larger than 2^63 - 1"));
}

TEST(Shape, RefusesMoreElementsThanCanBeCounted) {
  EXPECT_EQ(Shape{largest}.numel(), largest);
  EXPECT_EQ(message_of([] { Shape{largest, 2}; }), "[shape] too many elements: (9223372036854775807) times 2");
  EXPECT_THAT(message_of([] { Shape{1 << 30, 1 << 30, 8}; }), HasSubstr("too many elements"));
}

TEST(Shape, HasSixAxesAtMost) {
  const std::vector<std::int64_t> seven(7, 1);
  EXPECT_EQ(Shape(std::span(seven).first(6)).rank(), 6);
  EXPECT_EQ(message_of([&] { Shape{seven}; }), "[shape] more than 6 axes: (1, 1, 1, 1, 1, 1) and 1");
}

TEST(Shape, MayBeEmpty) {
  EXPECT_EQ((Shape{3, 0, 2}.numel()), 0);
  EXPECT_EQ((Shape{0}), (Shape{0}));
  const std::int64_t large = std::int64_t{1} << 62;
  EXPECT_EQ((Shape{0, large}.numel()), 0);
  EXPECT_EQ((Shape{large, 0, 1}.numel()), 0);
  // Kernels multiply some of the extents, so that these products must not overflow either.
  EXPECT_THAT(message_of([&] { Shape{0, large, 2}; }), testing::HasSubstr("too many elements"));
  EXPECT_THAT(message_of([&] { Shape{large, 0, 2}; }), testing::HasSubstr("too many elements"));
}

TEST(Shape, ComparesExtentsInOrder) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2L, 3U}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_NE(Shape(), (Shape{1}));
}

TEST(Shape, ReplacesAnExtent) {
  EXPECT_EQ((Shape{2, 3, 4}.with(-2, 7)), (Shape{2, 7, 4}));
  EXPECT_EQ((Shape{2, 0}.with(1, 5).numel()), 10);
  EXPECT_THAT(message_of([] { static_cast<void>(Shape{2}.with(1, 5)); }), HasSubstr("there is no axis 1 in (2)"));
}

TEST(NewShape, FillsOneExtent) {
  EXPECT_EQ((NewShape{2, -1}.of({3, 4}, "fold")), (Shape{2, 6}));
  EXPECT_EQ((NewShape{-1}.of({}, "fold")), (Shape{1}));
  EXPECT_EQ((NewShape{Shape{4, 3}}.of({3, 4}, "fold")), (Shape{4, 3}));
  EXPECT_EQ((NewShape{}.of({1, 1}, "fold")), (Shape{}));
  EXPECT_EQ((NewShape{3U, -1, short{2}}.str()), "(3, -1, 2)");
}

TEST(NewShape, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message_of([] { NewShape{-1, 3, -1}; }), "[shape] both axes 0 and 2 are -1");
  EXPECT_EQ(message_of([] { NewShape{2, -2}; }), "[shape] negative extent -2 of axis 1");
  EXPECT_EQ(message_of([] {
              static_cast<void>(NewShape{5, -1}.of({3, 4}, "fold"));
            }),
            "[fold] (3, 4) has 12 elements, which (5, -1) cannot hold");
  EXPECT_EQ(message_of([] {
              static_cast<void>(NewShape{5, 2}.of({3, 4}, "fold"));
            }),
            "[fold] (3, 4) has 12 elements, (5, 2) would have 10");
  EXPECT_EQ(message_of([] {
              static_cast<void>(NewShape{-1, 0}.of({0, 4}, "fold"));
            }),
            "[fold] any extent would do for the -1 of (-1, 0)");
}

}  // namespace
}  // namespace asyncgrad
