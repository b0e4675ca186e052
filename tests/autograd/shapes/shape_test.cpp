#include "asyncgrad/autograd/shape.h"

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(Reshape, SharesStorage) {
  Tensor x = float64_tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = reshape(x, {3, 2});
  EXPECT_EQ(y.shape(), Shape(3, 2));
  x += 1;
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(reshape(ones({1, 1}), {}).item(), 1);
}

TEST(Slice, SharesRows) {
  Tensor x = float64_tensor({1, 2, 3, 4, 5, 6}, {3, 2});
  Tensor y = slice(x, 1, 3);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{3, 4, 5, 6}));
  y.slice(0, 1).fill_(9);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 9, 9, 5, 6}));
  EXPECT_EQ(slice(x, 2, 2).shape(), Shape(0, 2));
}

TEST(Transpose, ExchangesTwoAxes) {
  const Tensor x = arange(0, 24).reshape({2, 3, 4});
  const Tensor y = transpose(x), z = transpose(x, 0, -1);
  EXPECT_EQ(y.shape(), Shape(2, 4, 3));
  EXPECT_EQ(z.shape(), Shape(4, 3, 2));
  const std::vector<float> ys = y.to_vector<float>(), zs = z.to_vector<float>();
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        const auto element = static_cast<float>(i * 12 + j * 4 + k);
        EXPECT_EQ(ys[i * 12 + k * 3 + j], element);
        EXPECT_EQ(zs[k * 6 + j * 2 + i], element);
      }
    }
  }
}

// 0, 1, 2, … in this shape.
Tensor counted(const Shape& shape, DType dtype = float32) {
  return arange(0, shape.numel(), 1, {.dtype = dtype}).reshape(shape);
}

TEST(Reshape, FillsTheExtentThatIsLeft) {
  const Tensor x = counted({4, 6});
  EXPECT_EQ(reshape(x, {-1, 3}).shape(), Shape(8, 3));
  EXPECT_EQ(reshape(x, {2, -1, 2}).shape(), Shape(2, 6, 2));
  EXPECT_EQ(x.reshape({-1}).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(zeros({0, 3}).reshape({3, -1}).shape(), Shape(3, 0));
}

TEST(Rows, ShareStorage) {
  Tensor x = counted({3, 2}, int64);
  Tensor row = x[1];
  EXPECT_EQ(row.shape(), Shape(2));
  EXPECT_EQ(row[1].item(), 3);
  EXPECT_EQ(x[-1].to_vector<std::int64_t>(), (std::vector<std::int64_t>{4, 5}));
  row.fill_(7);
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 7, 7, 4, 5}));
  EXPECT_EQ(zeros({2, 0})[1].shape(), Shape(0));
}

TEST(Squeeze, DropsAxesOfExtentOne) {
  const Tensor x = zeros({1, 3, 1, 2});
  EXPECT_EQ(squeeze(x).shape(), Shape(3, 2));
  EXPECT_EQ(squeeze(x, 0).shape(), Shape(3, 1, 2));
  EXPECT_EQ(squeeze(x, {-2, 0}).shape(), Shape(3, 2));
  EXPECT_EQ(squeeze(zeros({1, 1})).shape(), Shape());
  EXPECT_EQ(unsqueeze(x, 0).shape(), Shape(1, 1, 3, 1, 2));
  EXPECT_EQ(unsqueeze(x, -1).shape(), Shape(1, 3, 1, 2, 1));
  EXPECT_EQ(unsqueeze(zeros({}), 0).shape(), Shape(1));
}

TEST(Permute, PutsAxesInAnyOrder) {
  for (const DType dtype : {float32, float64, int64}) {
    const Tensor x = counted({2, 3, 4}, dtype), y = permute(x, {2, 0, -2});
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.shape(), Shape(4, 2, 3));
    const std::vector<double> ys = values(y);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        for (std::size_t k = 0; k < 3; ++k) {
          EXPECT_EQ(ys[i * 6 + j * 3 + k], static_cast<double>(j * 12 + k * 4 + i));
        }
      }
    }
  }
  EXPECT_EQ(permute(zeros({0, 3}), {1, 0}).shape(), Shape(3, 0));
}

TEST(Slice, OfAnyAxisHasAStep) {
  const Tensor x = counted({2, 5});
  EXPECT_EQ(slice(x, 1, 1, 4).to_vector<float>(), (std::vector<float>{1, 2, 3, 6, 7, 8}));
  EXPECT_EQ(slice(x, -1, 0, 5, 2).to_vector<float>(), (std::vector<float>{0, 2, 4, 5, 7, 9}));
  EXPECT_EQ(slice(x, 1, 1, -1, 5).to_vector<float>(), (std::vector<float>{1, 6}));
  EXPECT_EQ(slice(x, 1, 3, 3).shape(), Shape(2, 0));
  EXPECT_EQ(slice(x, 0, 0, 2, 2).to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(slice(counted({6}, int64), 0, -5, -1, 3).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(slice(x, -2, -1).to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(slice(zeros({0, 4}), 1, 0, 4, 3).shape(), Shape(0, 2));
}

TEST(Slice, OfTheFirstAxisSharesStorageAndOthersCopy) {
  Tensor x = counted({2, 3});
  slice(x, 0, 1, 2).fill_(8);
  slice(x, 1, 0, 1).fill_(9);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 8, 8, 8}));
}

TEST(Index, SelectsAsPythonDoes) {
  const Tensor x = counted({2, 3, 4}, int64);
  const auto at = [&](const Tensor& y) { return y.to_vector<std::int64_t>(); };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(x(1, 2, 3).item<std::int64_t>(), 23);
  EXPECT_EQ(x(-1, -3, 0).item<std::int64_t>(), 12);
  EXPECT_EQ(x(1, 2, 3).shape(), Shape());
  EXPECT_EQ(at(x(1)), at(x[1]));
  EXPECT_EQ(at(x(0, range(1, 3))), (Integers{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(at(x(all, 1)), (Integers{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(at(x(all, all, -1)), (Integers{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(at(x(ellipsis, -1)), at(x(all, all, -1)));
  EXPECT_EQ(at(x(0, ellipsis, 1)), (Integers{1, 5, 9}));
  EXPECT_EQ(at(x(1, range({}, {}, 2), range(1, -1))), (Integers{13, 14, 21, 22}));
  EXPECT_EQ(at(x(0, 0, range({}, {}, -1))), (Integers{3, 2, 1, 0}));
  EXPECT_EQ(at(x(0, 0, range(-1, 0, -2))), (Integers{3, 1}));
  EXPECT_EQ(at(x(0, range(2, 0, -1), range({}, 2))), (Integers{8, 9, 4, 5}));
  EXPECT_EQ(at(x(0, 0, range(1, {}))), (Integers{1, 2, 3}));
  EXPECT_EQ(x(newaxis, all, newaxis, 0).shape(), Shape(1, 2, 1, 4));
  EXPECT_EQ(x(ellipsis, newaxis).shape(), Shape(2, 3, 4, 1));
  EXPECT_EQ(x(ellipsis).shape(), x.shape());
  EXPECT_EQ(x(all, range(3, 3)).shape(), Shape(2, 0, 4));
  EXPECT_EQ(x(all, range(1, 1, -1)).shape(), Shape(2, 0, 4));
  EXPECT_EQ(zeros({0, 2})(range({}, {}, -1)).shape(), Shape(0, 2));
  EXPECT_EQ(x(all(), std::size_t{1}).shape(), Shape(2, 4));
}

TEST(Index, SharesStorageWhereItLeads) {
  Tensor x = zeros({3, 2, 2});
  x(0) += 1;
  x(1, range(0, 1)).fill_(2);
  x(range(2, 3)).copy_(full({1, 2, 2}, 3));
  x(1, 1, 0).fill_(4);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 1, 1, 1, 2, 2, 4, 0, 3, 3, 3, 3}));
  for (Tensor copy : {x(all, 0), x(range(0, 3, 2)), x(range(2, {}, -1)), x(all, range(0, 1))}) copy.fill_(9);
  EXPECT_EQ(max(x).item(), 4);
}

TEST(Index, IsAssignedTo) {
  Tensor x = counted({2, 3});
  x.assign({all, -1}, 9);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 9, 3, 4, 9}));
  x.assign({0, range({}, {}, -1)}, Tensor::from<float>({1, 2, 3}, {3}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{3, 2, 1, 3, 4, 9}));
  x.assign({all, newaxis, range(0, 2)}, Tensor::from<float>({5, 6}, {2, 1, 1})).assign({1, 2}, 0);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{5, 5, 1, 6, 6, 0}));
  x.assign({}, -1);
  EXPECT_EQ(sum(x).item(), -6);
  EXPECT_EQ(message_of([&] {
              x.assign({all, 0}, zeros({3}));
            }),
            "[assign] the value (3) cannot be repeated to the slice (2); from the last axis on, extents are to be "
            "equal or 1");
  EXPECT_EQ(message_of([&] { x.assign({all, 3}, 0); }), "[assign] axis 1 of (2, 3) has no element 3; it has 3");
}

TEST(Index, ShowsTheAxisTheIndexAndTheShape) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of([&] { x(2); }), "[index] axis 0 of (2, 3) has no element 2; it has 2");
  EXPECT_EQ(message_of([&] { x(all, -4); }), "[index] axis 1 of (2, 3) has no element -4; it has 3");
  EXPECT_EQ(message_of([&] { x(all, range(1, 4)); }), "[index] axis 1 of (2, 3) has no elements 1:4; it has 3");
  EXPECT_EQ(message_of([&] { x(range(-3, {})); }), "[index] axis 0 of (2, 3) has no elements -3:; it has 2");
  EXPECT_EQ(message_of([&] { x(all, range(3, {}, -1)); }), "[index] axis 1 of (2, 3) has no elements 3::-1; it has 3");
  EXPECT_EQ(message_of([&] { x(all, range(-4, {}, -1)); }),
            "[index] axis 1 of (2, 3) has no elements -4::-1; it has 3");
  EXPECT_EQ(message_of([&] { x(all, range(0, 2, -1)); }), "[index] axis 1 of (2, 3) has no elements 0:2:-1; it has 3");
  EXPECT_EQ(message_of([&] { x(all, range(0, 2, 0)); }),
            "[index] the step along axis 1 of (2, 3) is 0; it must go forwards or backwards");
  EXPECT_EQ(message_of([&] { x(0, all, 0); }), "[index] 3 indices for the 2 axes of (2, 3); leave some out");
  EXPECT_EQ(message_of([&] { x(ellipsis, ellipsis); }),
            "[index] more than one ellipsis for (2, 3); one stands for all axes that no other index names");
  EXPECT_EQ(message_of([&] { x(newaxis, newaxis, newaxis, newaxis, newaxis); }),
            "[index] 5 new axes for (2, 3): a tensor has at most six");
  EXPECT_EQ(message_of([] { Tensor()(0); }),
            "[index] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(Flip, TurnsAxesAround) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(flip(x, 0).to_vector<float>(), (std::vector<float>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(flip(x, {0, -1}).to_vector<float>(), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(flip(zeros({0, 2}), 0).shape(), Shape(0, 2));
}

TEST(Expand, RepeatsAsElementwiseOperationsDo) {
  const Tensor x = counted({2, 1}, int64);
  EXPECT_EQ(expand(x, {3, 2, 2}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(expand(ones({}), {2, 2}).to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(expand(ones({1, 3}), {0, 3}).shape(), Shape(0, 3));
}

TEST(Tile, RepeatsTheWhole) {
  const Tensor x = counted({2, 2});
  EXPECT_EQ(tile(x, {2}).to_vector<float>(), (std::vector<float>{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(tile(x, {2, 1}).to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(tile(counted({2}), {2, 2}).to_vector<float>(), (std::vector<float>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(tile(x, {0, 3}).shape(), Shape(0, 6));
  EXPECT_EQ(tile(x, {}).to_vector<float>(), x.to_vector<float>());
}

TEST(Tile, RepeatsAllOfSixAxes) {
  const Shape repeats{2, 3, 2, 2, 3, 2};
  const Tensor x = counted({1, 2, 3, 2, 1, 2}, float64), y = tile(x, repeats);
  ASSERT_EQ(y.shape(), Shape(2, 6, 6, 4, 3, 4));
  const std::vector<double> from = values(x), to = values(y);
  for (std::int64_t position = 0; position < y.numel(); ++position) {
    std::int64_t rest = position, at = 0, stride = 1;
    for (int axis = 5; axis >= 0; --axis) {
      at += rest % y.size(axis) % x.size(axis) * stride;
      rest /= y.size(axis);
      stride *= x.size(axis);
    }
    ASSERT_EQ(to[static_cast<std::size_t>(position)], from[static_cast<std::size_t>(at)]) << position;
  }
}

TEST(Pad, PutsANumberAround) {
  const Tensor x = counted({1, 2}) + 1;
  EXPECT_EQ(pad(x, {{1, 0}, {0, 2}}, 9).to_vector<float>(), (std::vector<float>{9, 9, 9, 9, 1, 2, 9, 9}));
  EXPECT_EQ(pad(counted({2}, int64), {{1, 1}}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 1, 0}));
  EXPECT_EQ(pad(zeros({0}), {{2, 1}}, 1).to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(pad(ones({}), {}).item(), 1);
}

TEST(Concat, JoinsAlongAnAxis) {
  const Tensor x = counted({2, 2}), y = counted({2, 1}) + 10;
  EXPECT_EQ(concat({x, y, x}, 1).to_vector<float>(), (std::vector<float>{0, 1, 10, 0, 1, 2, 3, 11, 2, 3}));
  EXPECT_EQ(concat({x, zeros({0, 2}), x}).shape(), Shape(4, 2));
  EXPECT_EQ(concat({x}, -1).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(concat({counted({2}, int64), counted({1}, int64)}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(concat({zeros({0, 2}), zeros({0, 3})}, 1).shape(), Shape(0, 5));
  const std::vector<Tensor> many(100, x);
  EXPECT_EQ(concat(many, 1).to_vector<float>(), tile(x, {1, 100}).to_vector<float>());
}

TEST(Stack, PutsTensorsSideBySide) {
  const Tensor x = counted({2}), y = counted({2}) + 10;
  EXPECT_EQ(stack({x, y}).to_vector<float>(), (std::vector<float>{0, 1, 10, 11}));
  EXPECT_EQ(stack({x, y}, -1).to_vector<float>(), (std::vector<float>{0, 10, 1, 11}));
  EXPECT_EQ(stack({ones({}), zeros({}), ones({})}).to_vector<float>(), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(stack({zeros({0}), zeros({0})}, 1).shape(), Shape(0, 2));
}

TEST(Split, CutsAlongAnAxis) {
  const Tensor x = counted({2, 3});
  const std::vector<Tensor> parts = split(x, std::vector<std::int64_t>{1, 0, 2}, 1);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].to_vector<float>(), (std::vector<float>{0, 3}));
  EXPECT_EQ(parts[1].shape(), Shape(2, 0));
  EXPECT_EQ(parts[2].to_vector<float>(), (std::vector<float>{1, 2, 4, 5}));
  std::vector<Tensor> rows = split(x, 2);
  rows[1].fill_(9);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 1, 2, 9, 9, 9}));
  EXPECT_EQ(concat(split(x, 3, 1), 1).to_vector<float>(), x.to_vector<float>());
}

TEST(Assign, WritesASlice) {
  Tensor x = counted({3, 4});
  assign(x, {{1, 1, 4, 2}}, 9);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, 9, 2, 9, 4, 9, 6, 9, 8, 9, 10, 9}));
  assign(x, {{0, 1, -1}, {1, 0, 2}}, Tensor::from({-1.0f, -2.0f}, {2}));
  EXPECT_EQ(x.slice(1, 2).to_vector<float>(), (std::vector<float>{-1, -2, 6, 9}));
  assign(x, {}, zeros({4}));
  EXPECT_EQ(sum(x).item(), 0);
  assign(x, {{0, 2, 2}}, 5);
  EXPECT_EQ(sum(x).item(), 0);
  Tensor integers = counted({2, 2}, int64);
  assign(integers, {{1, 0, 1}}, integers.slice(0, 1).reshape({2, 1}));  // what it reads is part of what it writes
  EXPECT_EQ(integers.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1, 3}));
}

TEST(Assign, FollowsTheRulesOfWritingInPlace) {
  Tensor leaf = parameter(ones({2, 2}));
  EXPECT_TRUE(has_parts(message_of([&] { assign(leaf, {{1, 0, 1}}, 0); }), {"[assign]", "leaf"}));
  Tensor y = leaf * 2;
  const Tensor squared = square(y);
  const Tensor row = y.slice(0, 1);
  EXPECT_TRUE(has_parts(message_of([&] { assign(row, {{1, 0, 1}}, 0); }), {"[assign]", "shares its storage"}));
  assign(y, {{1, 0, 1}}, 0);
  EXPECT_TRUE(has_parts(message_of([&] { sum(squared).backward(); }), {"written in place", "version"}));
  EXPECT_TRUE(has_parts(message_of([&] { row + 1; }), {"out of date"}));
}

TEST(Shapes, RefuseWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of([&] { reshape(x, {4, 2}); }), "[reshape] (2, 3) has 6 elements, (4, 2) would have 8");
  EXPECT_EQ(message_of([&] { reshape(x, {4, -1}); }), "[reshape] (2, 3) has 6 elements, which (4, -1) cannot hold");
  EXPECT_EQ(message_of([&] { reshape(zeros({0}), {0, -1}); }), "[reshape] any extent would do for the -1 of (0, -1)");
  EXPECT_EQ(message_of([&] { reshape(x, {-1, 2, -1}); }), "[shape] both axes 0 and 2 are -1");
  EXPECT_EQ(message_of([&] { reshape(x, {-2, 3}); }), "[shape] negative extent -2 of axis 0");
  EXPECT_EQ(message_of([&] { transpose(x, 0, 2); }), "[transpose] there is no axis 2 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([&] { transpose(zeros({3})); }), "[transpose] there is no axis -2 in (3); axes are -1 to 0");
  EXPECT_EQ(message_of([&] { slice(x, 1, 3); }), "[slice] no rows 1 to 3 in (2, 3)");
  EXPECT_EQ(message_of([&] { slice(x, -3, 1); }), "[slice] no rows -3 to 1 in (2, 3)");
  EXPECT_EQ(message_of([&] { slice(sum(x), 0, 0); }), "[slice] needs x with an axis of rows, got a scalar ()");
  EXPECT_EQ(message_of([&] { slice(x, 1, 2, 4); }), "[slice] there are no elements 2 to 4 along axis 1 of (2, 3)");
  EXPECT_EQ(message_of([&] { slice(x, 1, 2, 1); }), "[slice] there are no elements 2 to 1 along axis 1 of (2, 3)");
  EXPECT_EQ(message_of([&] { slice(x, 2, 0, 1); }), "[slice] there is no axis 2 in (2, 3); axes are -2 to 1");
  EXPECT_EQ(message_of([&] { slice(x, 1, 0, 3, -1); }), "[slice] the step -1 along axis 1 of (2, 3) is not positive");
  EXPECT_EQ(message_of([&] { x[2]; }), "[row] no row 2 in (2, 3)");
  EXPECT_EQ(message_of([&] { x[-3]; }), "[row] no row -3 in (2, 3)");
  EXPECT_EQ(message_of([&] { sum(x)[0]; }), "[row] needs x with an axis of rows, got a scalar ()");
  EXPECT_EQ(message_of([&] { squeeze(x, 1); }), "[squeeze] axis 1 of (2, 3) is longer than 1");
  EXPECT_EQ(message_of([&] { unsqueeze(x, 3); }), "[unsqueeze] (2, 3) cannot get an axis 3; it may be -3 to 2");
  EXPECT_EQ(message_of([&] { permute(x, {0, 0}); }), "[permute] axis 0 of (2, 3) is named twice");
  EXPECT_EQ(message_of([&] { permute(x, 0); }), "[permute] 1 axes are named, (2, 3) has 2");
  EXPECT_EQ(message_of([&] { flip(x, {1, -1}); }), "[flip] axis -1 of (2, 3) is named twice");
  EXPECT_EQ(message_of([&] {
              expand(x, {2, 4});
            }),
            "[expand] (2, 3) cannot be repeated to (2, 4); from the last axis on, extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { expand(x, {3}); }),
            "[expand] (2, 3) cannot be repeated to (3); from the last axis on, extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { tile(x, {-1}); }), "[shape] negative extent -1 of axis 0");
  EXPECT_EQ(message_of([&] { pad(x, {{1, 1}}); }), "[pad] (2, 3) needs a padding for each of its axes, not 1");
  EXPECT_EQ(message_of([&] {
              pad(x, {{0, 0}, {2, -1}});
            }),
            "[pad] axis 1 of (2, 3) cannot be padded by 2 and -1; a padding must not be negative, and slices cut off");
  EXPECT_TRUE(has_parts(message_of([] { pad(zeros({1}, {.dtype = int64}), {{1, 1}}, 0.5); }), {"[pad]", "0.5"}));
  EXPECT_EQ(message_of([&] {
              concat({x, zeros({3, 3})}, 1);
            }),
            "[concat] shapes differ beside axis 1: first (2, 3), another (3, 3); only the extents along it may differ");
  EXPECT_EQ(message_of([] { concat({}); }), "[concat] needs at least one tensor, got none");
  EXPECT_EQ(message_of([&] { concat({sum(x)}); }), "[concat] there is no axis 0 in (); a scalar has none");
  EXPECT_TRUE(has_parts(message_of([&] {
                          concat({x, zeros({2, 3}, {.dtype = int64})});
                        }),
                        {"[concat]", "types differ"}));
  EXPECT_EQ(message_of([&] {
              stack({x, zeros({3})});
            }),
            "[stack] shapes differ: first (2, 3), another (3); all are to have one shape");
  EXPECT_EQ(message_of([&] { stack({x}, 3); }), "[stack] (2, 3) cannot get an axis 3; it may be -3 to 2");
  EXPECT_EQ(message_of([&] {
              split(x, std::vector<std::int64_t>{1, 1}, 1);
            }),
            "[split] the sizes 1, 1 do not add up to axis 1 of (2, 3)");
  EXPECT_EQ(message_of([&] { split(x, 2, 1); }),
            "[split] axis 1 of (2, 3) has no 2 equal parts; the count must divide its extent");
  EXPECT_EQ(message_of([&] {
              assign(x, {{1, 0, 2}}, zeros({3}));
            }),
            "[assign] the value (3) cannot be repeated to the slice (2, 2); from the last axis on, extents are to be "
            "equal or 1");
  EXPECT_EQ(message_of([&] { assign(x, {{1, 0, 2}, {-1, 0, 2}}, 0); }), "[assign] axis -1 of (2, 3) is named twice");
  EXPECT_EQ(message_of([] { Tensor().reshape({1}); }),
            "[reshape] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([] { permute(Tensor(), 0); }),
            "[permute] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
  EXPECT_EQ(message_of([] { concat({Tensor()}); }),
            "[concat] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
