#include "asyncgrad/autograd/indexing.h"
#include "asyncgrad/autograd/triangle.h"

#include <limits>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

TEST(Take, CopiesRows) {
  const Tensor x = float64_tensor({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = take(x, int64_tensor({2, 0, 2, 1}, {4}));
  EXPECT_EQ(y.shape(), Shape(4, 2));
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{5, 6, 1, 2, 5, 6, 3, 4}));
  EXPECT_EQ(take(int64_tensor({7, 8}, {2}), int64_tensor({1}, {1})).item(), 8);
  EXPECT_EQ(take(x, zeros({0}, {.dtype = int64})).shape(), Shape(0, 2));
}

TEST(Take, GoesAlongAnyAxisByIndicesOfAnyRank) {
  const Tensor x = arange(0, 12, 1, {.dtype = int64}).reshape({2, 3, 2});
  const Tensor y = take(x, int64_tensor({2, 0, 1, 2}, {2, 2}), -2);
  EXPECT_EQ(y.shape(), Shape(2, 2, 2, 2));
  EXPECT_EQ(y.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{4, 5, 0, 1, 2, 3, 4, 5, 10, 11, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(take(x, int64_tensor({1}, {}), 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 3, 8, 9}));
  EXPECT_EQ(take(zeros({0, 3}), int64_tensor({1}, {1}), 1).shape(), Shape(0, 1));
}

TEST(Gather, HasAnIndexForEachElement) {
  const Tensor x = float64_tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(gather(x, int64_tensor({2, 2, 0, 1}, {2, 2}), 1).to_vector<double>(), (std::vector<double>{3, 3, 4, 5}));
  EXPECT_EQ(gather(x.to(float32), int64_tensor({1, 0, 1}, {1, 3}), 0).to_vector<float>(),
            (std::vector<float>{4, 2, 6}));
  EXPECT_EQ(gather(x, zeros({2, 0}, {.dtype = int64}), -1).shape(), Shape(2, 0));
}

TEST(ScatterAdd, AddsAtTheIndices) {
  const Tensor x = int64_tensor({1, 2, 3, 4}, {2, 2});
  const Tensor y =
      scatter_add(x, int64_tensor({1, 1, 0, 0, 0, 1}, {2, 3}), int64_tensor({10, 20, 30, 40, 50, 60}, {2, 3}), 1);
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{31, 32, 93, 64}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 3, 4}));
  const Tensor nothing = zeros({0, 2}, {.dtype = int64});
  EXPECT_EQ(scatter_add(x, nothing, nothing, 0).to_vector<std::int64_t>(), x.to_vector<std::int64_t>());
}

TEST(RavelMultiIndex, IsThePlaceAmongAllElements) {
  const Tensor rows = int64_tensor({0, 2, -1, -3}, {4, 1}), columns = int64_tensor({3, -4, 1}, {3});
  const Tensor places = ravel_multi_index({rows, columns}, {3, 4});
  EXPECT_EQ(places.shape(), Shape(4, 3));
  EXPECT_EQ(places.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 0, 1, 11, 8, 9, 11, 8, 9, 3, 0, 1}));
  EXPECT_EQ(ravel_multi_index(columns, {4}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 0, 1}));
  EXPECT_EQ(ravel_multi_index({rows.to(int32), int64_tensor({1}, {}), int64_tensor({-1}, {1, 1}).to(int64)}, {3, 2, 5})
                .to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{9, 29, 29, 9}));
  EXPECT_EQ(ravel_multi_index({zeros({0, 1}, {.dtype = int64}), columns}, {3, 4}).shape(), Shape(0, 3));
  const std::vector<Tensor> six(6, int64_tensor({1, -1}, {2}));
  EXPECT_EQ(ravel_multi_index(six, {2, 3, 2, 3, 2, 3}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{172, 215}));
}

TEST(RavelMultiIndex, OfManyNumbersThatLieAnyhow) {
  for (const std::int64_t count : {1023, 1024, 1025, 100'000}) {
    const Tensor rows = randint(-300, 300, {count}), columns = randint(-7, 7, {count});
    const Tensor places = ravel_multi_index({rows, columns}, {300, 7});
    const auto is_at = [](const Tensor& index, std::int64_t extent) { return index + (index < 0).to(int64) * extent; };
    EXPECT_EQ(places.to_vector<std::int64_t>(), (is_at(rows, 300) * 7 + is_at(columns, 7)).to_vector<std::int64_t>());
  }
}

TEST(RavelMultiIndex, RefusesWhatIsOutside) {
  const auto message = [](std::vector<std::int64_t> rows, std::vector<std::int64_t> columns) {
    const auto count = static_cast<std::int64_t>(rows.size());
    return message_of([&] {
      ravel_multi_index({int64_tensor(rows, {count}), int64_tensor(columns, {count})}, {3, 4}).wait();
    });
  };
  const auto is_named = [](const std::string& message, const std::string& index) {
    return has_parts(message, {"[ravel_multi_index] " + index});
  };
  EXPECT_TRUE(is_named(message({0, 1}, {0, 4}), "index 4 at position 1 of indices[1] is outside [-4, 4)"));
  EXPECT_TRUE(is_named(message({0, 3}, {0, 0}), "index 3 at position 1 of indices[0] is outside [-3, 3)"));
  EXPECT_TRUE(is_named(message({0, 0}, {-5, 9}), "index -5 at position 0 of indices[1] is outside [-4, 4)"));
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
  EXPECT_TRUE(is_named(message({least}, {0}), fmt::format("index {} at position 0", least)));
  EXPECT_TRUE(is_named(message({0}, {most}), fmt::format("index {} at position 0", most)));
  std::vector<std::int64_t> many(100'000, 1);
  many[70'000] = 3;
  many[30'000] = -4;  // in another tile
  EXPECT_TRUE(is_named(message(many, many), "index -4 at position 30000 of indices[0] is outside [-3, 3)"));
}

TEST(RavelMultiIndex, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor index = int64_tensor({0, 1}, {2});
  EXPECT_EQ(message_of([&] {
              ravel_multi_index(index, {3, 4});
            }),
            "[ravel_multi_index] needs an index for each axis, of which there is at least one: shape (3, 4), 1 tensors "
            "of indices");
  EXPECT_TRUE(has_parts(message_of([&] { ravel_multi_index(std::vector<Tensor>(), {}); }), {"at least one"}));
  EXPECT_TRUE(has_parts(message_of([&] {
                          ravel_multi_index({index, int64_tensor({0, 1, 0}, {3})}, {3, 4});
                        }),
                        {"[ravel_multi_index] shapes cannot be broadcast", "(2)", "(3)"}));
  EXPECT_TRUE(has_parts(message_of([&] { ravel_multi_index({index, ones({2})}, {3, 4}); }), {"must be int64"}));
  EXPECT_TRUE(has_parts(message_of([&] { ravel_multi_index({index, Tensor()}, {3, 4}); }), {"[ravel_multi_index]"}));
}

TEST(Put, WritesAtTheIndices) {
  const Tensor x = int64_tensor({1, 2, 3, 4}, {2, 2});
  put(x, int64_tensor({3, 0}, {2}), int64_tensor({40, 10}, {2}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{10, 2, 3, 40}));
  put(x[1], int64_tensor({1, 1, 0, 1}, {2, 2}).to(int32), int64_tensor({5, 6, 7, 8}, {2, 2}));  // the last one stays
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{10, 2, 7, 8}));
  put(x, zeros({0}, {.dtype = int64}), zeros({0}, {.dtype = int64}));
  const Tensor y = int64_tensor({3, 2, 1, 0}, {4});
  put(y, y, pad(y.slice(1, 4), {{0, 1}}, 9));
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{9, 0, 1, 2}));
  put(y, y.slice(1, 4), y.slice(1, 4));  // what it reads is part of what it writes
  EXPECT_EQ(y.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 2}));
  for (const DType dtype : {float32, float64, bfloat16, int32, uint8, boolean}) {
    const Tensor z = zeros({3}, {.dtype = dtype});
    put(z, int64_tensor({2}, {1}), ones({1}, {.dtype = dtype}));
    EXPECT_EQ(z.to(int64).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 1}));
  }
}

TEST(Put, FollowsTheRulesOfWritingInPlace) {
  const Tensor leaf = parameter(ones({2, 2})), index = int64_tensor({3}, {1});
  EXPECT_TRUE(has_parts(message_of([&] { put(leaf, index, zeros({1})); }), {"[put]", "leaf"}));
  const Tensor y = leaf * 2, squared = square(y), row = y.slice(0, 1);
  EXPECT_TRUE(has_parts(message_of([&] { put(row, index, zeros({1})); }), {"[put]", "shares its storage"}));
  put(y, index, zeros({1}));
  EXPECT_TRUE(has_parts(message_of([&] { sum(squared).backward(); }), {"written in place", "version"}));
  EXPECT_TRUE(has_parts(message_of([&] { row + 1; }), {"out of date"}));
}

TEST(Put, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({2, 2}), index = int64_tensor({1}, {1});
  EXPECT_EQ(message_of([&] { put(x, index, zeros({2})); }),
            "[put] each value needs an index: x (2, 2), indices (1), values (2); both are to have one shape");
  EXPECT_EQ(message_of([&] {
              put(zeros({2, 0}), index, zeros({1}));
            }),
            "[put] x has no element that indices could choose: x (2, 0), indices (1), values (1)");
  EXPECT_TRUE(has_parts(message_of([&] { put(x, zeros({1}), zeros({1})); }), {"[put] indices must be int64"}));
  EXPECT_TRUE(has_parts(message_of([&] { put(x, index, index); }), {"[put]", "values int64 (1)"}));
  EXPECT_TRUE(has_parts(message_of([&] { put(x, Tensor(), index); }), {"[put]", "holds nothing"}));
}

TEST(OneHot, MarksTheIndex) {
  const Tensor y = one_hot(int64_tensor({2, 0}, {2, 1}), 3);
  EXPECT_EQ(y.shape(), Shape(2, 1, 3));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(one_hot(int64_tensor({1}, {}), 2, int64).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(one_hot(zeros({0}, {.dtype = int64}), 4, float64).shape(), Shape(0, 4));
}

TEST(MaskedFill, WritesWhereTheMaskIsSet) {
  const double nan = std::nan("");
  const Tensor x = float64_tensor({1, nan, 3, 4}, {2, 2});
  EXPECT_EQ(masked_fill(x, float64_tensor({0, 1}, {2}), -1).to_vector<double>(), (std::vector<double>{1, -1, 3, -1}));
  const Tensor least = masked_fill(ones({2}), equal(ones({2}), 1), -INFINITY);
  EXPECT_EQ(least.to_vector<float>(), (std::vector<float>{-INFINITY, -INFINITY}));
}

TEST(Triangles, KeepOneSideOfTheDiagonal) {
  const Tensor x = arange(1, 7).reshape({2, 3});
  EXPECT_EQ(tril(x).to_vector<float>(), (std::vector<float>{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(triu(x, 1).to_vector<float>(), (std::vector<float>{0, 2, 3, 0, 0, 6}));
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(tril(x, largest).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(sum(triu(x, largest)).item(), 0);
  EXPECT_EQ(sum(tril(x, -largest)).item(), 0);
  EXPECT_EQ(tril(zeros({0, 3})).shape(), Shape(0, 3));
  EXPECT_EQ(tril(ones({2, 2}) * std::nan(""), -1).to_vector<float>()[0], 0);
}

TEST(Indices, ThatAreNotThereThrowAtTheWait) {
  const Tensor x = zeros({2, 3});
  const auto expect = [](const Tensor& result, const char* operation) {
    EXPECT_TRUE(has_parts(message_of([&] { result.wait(); }), {operation, "index 3 at position 1"}));
    recover();
  };
  const Tensor indices = int64_tensor({0, 3}, {2, 1});
  expect(take(x, indices, 1), "[take]");
  expect(gather(x, indices, 1), "[gather]");
  expect(scatter_add(x, indices, zeros({2, 1}), 1), "[scatter_add]");
  expect(one_hot(indices, 3), "[one_hot]");
  const Tensor few = zeros({3});
  put(few, indices, ones({2, 1}));
  expect(few, "[put]");
}

// Each tile checks its own indices. The message does not depend on which of them is first.
TEST(Indices, OfSeveralTilesThrowOfTheFirstThatIsNotThere) {
  for (const Shape& shape : {Shape{200'000, 1}, Shape{2, 100'000}, Shape{100'000, 2}}) {
    std::vector<std::int64_t> places(200'000, 0);
    places[170'000] = places[70'000] = 5;
    const Tensor indices = int64_tensor(places, shape), x = zeros(shape.with(0, 2));
    for (int round = 0; round < 5; ++round) {
      for (const Tensor& result : {gather(x, indices, 0), scatter_add(x, indices, zeros(shape), 0)}) {
        EXPECT_TRUE(has_parts(message_of([&] { result.wait(); }), {"index 5 at position 70000"}));
        recover();
      }
    }
  }
}

TEST(Take, RefusesARowThatIsNotThereAtTheWait) {
  const std::string message = message_of([] { take(zeros({3, 2}), int64_tensor({0, -1}, {2})).wait(); });
  EXPECT_TRUE(has_parts(message, {"[take]", "-1"}));
  recover();
}

TEST(Indices, IntoAnAxisWithoutElementsThrowAtTheCall) {
  const Tensor x = zeros({2, 0}), indices = int64_tensor({0, 0}, {2, 1});
  EXPECT_EQ(message_of([&] { take(x, indices, 1); }),
            "[take] axis 1 of x has no element that indices could choose: x (2, 0), indices (2, 1)");
  EXPECT_TRUE(has_parts(message_of([&] { gather(x, indices, 1); }), {"[gather] axis 1 of x has no element"}));
  EXPECT_TRUE(has_parts(message_of([&] {
                          scatter_add(x, indices, zeros({2, 1}), 1);
                        }),
                        {"[scatter_add] axis 1 of x has no element"}));
  EXPECT_TRUE(has_parts(message_of([&] {
                          index_add(x, int64_tensor({0}, {1}), zeros({2, 1}), 1);
                        }),
                        {"[index_add] axis 1 of x has no element"}));
  EXPECT_TRUE(has_parts(message_of([&] {
                          cross_entropy(x, int64_tensor({0, 0}, {2}));
                        }),
                        {"[cross_entropy] axis 1 of logits has no element that labels could choose"}));
  EXPECT_EQ(gather(x, zeros({2, 0}, {.dtype = int64}), 1).shape(), Shape(2, 0));
  EXPECT_EQ(cross_entropy(zeros({0, 0}), zeros({0}, {.dtype = int64})).shape(), Shape{0});
}

TEST(Take, RefusesWhatDoesNotFitAtTheCall) {
  const Tensor x = zeros({3, 2});
  const Tensor indices = zeros({3, 1}, {.dtype = int64});
  EXPECT_EQ(message_of([&] { take(x, zeros({2})); }),
            "[take] indices must be int64: indices float32 (2); indices.to(ag::int64) converts them");
  EXPECT_EQ(message_of([&] { take(x, indices, 2); }), "[take] there is no axis 2 in (3, 2); axes are -2 to 1");
  EXPECT_EQ(message_of([&] {
              take(zeros({1, 1, 1, 1, 1, 1}), indices);
            }),
            "[take] the result would have more than 6 axes: x (1, 1, 1, 1, 1, 1), indices (3, 1); reshape the indices "
            "to one axis first");
  EXPECT_EQ(message_of([&] { gather(x, indices, 0); }),
            "[gather] shapes differ beside axis 0: x (3, 2), indices (3, 1); only the extents along it may differ");
  EXPECT_EQ(message_of([&] { gather(x, x, 0); }),
            "[gather] indices must be int64: indices float32 (3, 2); indices.to(ag::int64) converts them");
  EXPECT_EQ(message_of([&] {
              scatter_add(x, indices, zeros({3, 2}), 1);
            }),
            "[scatter_add] each source needs an index: indices (3, 1), source (3, 2); both are to have one shape");
  EXPECT_TRUE(has_parts(message_of([&] { scatter_add(x, indices, indices, 1); }), {"types differ"}));
  EXPECT_EQ(message_of([&] { one_hot(indices, 0); }), "[one_hot] classes must be at least 1, got 0; indices (3, 1)");
  EXPECT_EQ(message_of([&] { masked_fill(x, zeros({3}), 0); }),
            "[masked_fill] the mask cannot be repeated to x's shape: x (3, 2), mask (3); from the last axis on, "
            "extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { tril(zeros({3})); }), "[tril] needs x (…, N, M), got (3)");
  EXPECT_EQ(message_of([&] { take(sum(x), zeros({2}, {.dtype = int64})); }),
            "[take] needs x with an axis, got the scalar ()");
  EXPECT_EQ(message_of([&] { take(x, Tensor()); }),
            "[take] a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

TEST(Index, TakesOneElementByALongStep) {
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  const Tensor x = arange(0, 5);
  EXPECT_EQ(x(range({}, {}, longest)).to_vector<float>(), (std::vector<float>{0}));
  EXPECT_EQ(x(range({}, {}, -longest - 1)).to_vector<float>(), (std::vector<float>{4}));
  Tensor y = zeros({5});
  y.assign({range(1, {}, longest)}, ones({1}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace asyncgrad::tests
