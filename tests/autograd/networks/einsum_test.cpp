#include "asyncgrad/autograd/einsum.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

using testing::HasSubstr;

// The sum of products by its definition, for terms of letters alone.
std::vector<double> by_definition(const std::vector<std::string>& terms, const std::string& result,
                                  const std::vector<Tensor>& operands) {
  std::map<char, std::int64_t> extents, place;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      extents[terms[i][axis]] = std::max(extents[terms[i][axis]], operands[i].size(static_cast<int>(axis)));
    }
  }
  std::int64_t count = 1, total = 1;
  for (const char letter : result) count *= extents[letter];
  for (const auto& [letter, extent] : extents) total *= extent;
  std::vector<double> sums(static_cast<std::size_t>(count));
  for (std::int64_t step = 0; step < total; ++step) {
    std::int64_t rest = step;
    for (const auto& [letter, extent] : extents) {
      place[letter] = rest % extent;
      rest /= extent;
    }
    double product = 1;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      std::int64_t at = 0;
      for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
        const std::int64_t extent = operands[i].size(static_cast<int>(axis));
        at = at * extent + (extent == 1 ? 0 : place[terms[i][axis]]);
      }
      product *= values(operands[i])[static_cast<std::size_t>(at)];
    }
    std::int64_t at = 0;
    for (const char letter : result) at = at * extents[letter] + place[letter];
    sums[static_cast<std::size_t>(at)] += product;
  }
  return sums;
}

struct EinsumCase {
  std::vector<std::string> terms;
  std::string result;
  std::vector<Shape> shapes;
};

const EinsumCase einsum_cases[] = {
    {{"ij", "jk"}, "ik", {{2, 3}, {3, 4}}},
    {{"ji", "kj"}, "ik", {{3, 2}, {4, 3}}},
    {{"ij", "jk"}, "ki", {{2, 3}, {3, 4}}},
    {{"bij", "bjk"}, "bik", {{2, 2, 3}, {2, 3, 4}}},
    {{"ijb", "jkb"}, "kbi", {{2, 3, 2}, {3, 4, 2}}},
    {{"ij", "ij"}, "", {{2, 3}, {2, 3}}},
    {{"ij", "ij"}, "ij", {{2, 3}, {2, 3}}},
    {{"ij", "ji"}, "ij", {{2, 3}, {3, 2}}},
    {{"i", "j"}, "ij", {{2}, {3}}},
    {{"i", "j"}, "", {{2}, {3}}},
    {{"i", "j"}, "ji", {{2}, {3}}},
    {{"bi", "jb"}, "jbi", {{2, 3}, {4, 2}}},
    {{"ij", "k"}, "ikj", {{2, 3}, {4}}},
    {{"k", "i", "j"}, "ijk", {{4}, {2}, {3}}},
    {{"ab", "cd", "ef"}, "fbdace", {{2, 3}, {3, 2}, {2, 2}}},
    {{"ij"}, "ji", {{2, 3}}},
    {{"ij"}, "ij", {{2, 3}}},
    {{"ij"}, "j", {{2, 3}}},
    {{"ij"}, "", {{2, 3}}},
    {{"ii"}, "i", {{3, 3}}},
    {{"ii"}, "", {{3, 3}}},
    {{"iji", "ij"}, "j", {{3, 2, 3}, {3, 2}}},
    {{"iii"}, "i", {{3, 3, 3}}},
    {{"ab", "bc", "cd"}, "ad", {{2, 3}, {3, 4}, {4, 2}}},
    {{"ab", "bc", "cd", "da"}, "", {{2, 3}, {3, 4}, {4, 2}, {2, 2}}},
    {{"a", "b", "ab"}, "", {{2}, {3}, {2, 3}}},
    {{"ij", "ik", "il"}, "jkl", {{2, 3}, {2, 4}, {2, 2}}},
    {{"ij", "jk"}, "ik", {{2, 1}, {3, 4}}},
    {{"ij", "ij"}, "ij", {{2, 1}, {1, 3}}},
    {{"i", "ij"}, "ij", {{1}, {2, 3}}},
    {{"", "ij"}, "ij", {{}, {2, 3}}},
    {{"bhqd", "bhkd"}, "bhqk", {{2, 2, 3, 2}, {2, 2, 4, 2}}},
    {{"aBc", "cBz"}, "zaB", {{2, 3, 2}, {2, 3, 2}}},
    {{"ij", "jk"}, "ik", {{0, 3}, {3, 4}}},
    {{"ij", "jk"}, "ik", {{2, 0}, {0, 4}}},
};

TEST(Einsum, SumsProducts) {
  for (const EinsumCase& c : einsum_cases) {
    std::string equation;
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < c.terms.size(); ++i) {
      equation += (i == 0 ? "" : ", ") + c.terms[i];
      operands.push_back(random64(c.shapes[i], static_cast<unsigned>(i)));
    }
    equation += " -> " + c.result;
    SCOPED_TRACE(equation);
    const Tensor y = einsum(equation, operands);
    EXPECT_EQ(static_cast<std::size_t>(y.rank()), c.result.size());
    expect_near(y, by_definition(c.terms, c.result, operands));
  }
}

TEST(Einsum, NamesTheResultByItself) {
  const Tensor x = random64({2, 3}, 1), w = random64({3, 4}, 2), square = random64({3, 3}, 3);
  expect_near(einsum("ij,jk", {x, w}), values(matmul(x, w)));
  expect_near(einsum("ba", x), values(x.transpose()));
  expect_near(einsum("bA", x), values(x.transpose()));  // capitals come first
  expect_near(einsum("ii", square), values(einsum("ii->", square)));
  EXPECT_EQ(einsum("ij,jk,kl", {x, w, random64({4, 5}, 4)}).shape(), Shape(2, 5));
}

TEST(Einsum, BroadcastsTheAxesOfDots) {
  const Tensor x = random64({2, 1, 3, 4}, 1), w = random64({5, 4, 2}, 2);
  expect_near(einsum("...ij,...jk->...ik", {x, w}), values(matmul(x, w)));
  expect_near(einsum("...ij,...jk", {x, w}), values(matmul(x, w)));
  expect_near(einsum("...ij->...ji", x), values(x.transpose()));
  expect_near(einsum("i...->...i", x), values(permute(x, {1, 2, 3, 0})));
  expect_near(einsum("...", x), values(x));
  expect_near(einsum("...->", x), values(sum(x)));  // axes that the result lacks are summed over
  expect_near(einsum("...,...", {x, random64({3, 1}, 3)}), values(x * random64({3, 1}, 3)));
}

TEST(Einsum, GivesATensorOfItsOwn) {
  const Tensor x = ones({2, 3});
  Tensor y = einsum("ij->ij", x);
  y += 1;
  EXPECT_EQ(sum(x).item(), 6);
}

TEST(Einsum, ShowsTheEquationAndTheShapes) {
  const Tensor x = ones({2, 3}), w = ones({4, 5});
  const auto message = [](const char* equation, const std::vector<Tensor>& operands) {
    return message_of([&] { einsum(equation, operands); });
  };
  EXPECT_THAT(message("ij,jk->ik", {x, w}), HasSubstr("[einsum] \"ij,jk->ik\": j is 3 and 4; operands (2, 3), (4, 5)"));
  EXPECT_THAT(message("ijk,jk", {x, w}), HasSubstr("\"ijk\" names 3 axes of operand 0, which has 2"));
  EXPECT_THAT(message("...ijk,jk", {x, w}), HasSubstr("\"...ijk\" names 3 axes of operand 0, which has 2"));
  EXPECT_THAT(message("ij", {x, w}), HasSubstr("1 terms for 2 operands"));
  EXPECT_THAT(message("ij->k", {x}), HasSubstr("no operand has k"));
  EXPECT_THAT(message("ij->ii", {x}), HasSubstr("the result has i twice"));
  EXPECT_THAT(message("ii", {x}), HasSubstr("i is 2 and 3"));
  EXPECT_THAT(message("i1", {x}), HasSubstr("'1' in \"i1\" is neither a letter nor the only ..."));
  EXPECT_THAT(message("ij->->i", {x}), HasSubstr("neither a letter"));
  EXPECT_THAT(message("......", {x}), HasSubstr("neither a letter"));
  EXPECT_THAT(message("..ij", {x}), HasSubstr("neither a letter"));
  EXPECT_THAT(message("", {}), HasSubstr("[einsum] there are no operands"));
  EXPECT_THAT(message("ij", {x.to(int64)}), HasSubstr("[einsum]"));
  EXPECT_THAT(message("i,i", {ones({2}), ones({2}, {.dtype = float64})}), HasSubstr("float64"));
  const Tensor many = ones({1, 1, 1, 1});
  EXPECT_THAT(message("abcd,efgh->abcdefgh", {many, many}), HasSubstr("the result would have more than six axes"));
  EXPECT_THAT(message_of([] { einsum("i", Tensor()); }), HasSubstr("[einsum] a tensor that holds nothing"));
}

TEST(Tensordot, SumsOverPairsOfAxes) {
  const Tensor x = random64({2, 3, 4}, 1), y = random64({4, 3, 5}, 2);
  expect_near(tensordot(x, y, {1, 2}, {1, 0}), values(einsum("abc,cbd->ad", {x, y})));
  expect_near(tensordot(x, y, -1, 0), values(einsum("abc,cde->abde", {x, y})));
  expect_near(tensordot(x, random64({3, 4, 2}, 3)), values(einsum("abc,bcd->ad", {x, random64({3, 4, 2}, 3)})));
  EXPECT_EQ(tensordot(x, y, 1).shape(), Shape(2, 3, 3, 5));
  EXPECT_EQ(tensordot(x, y, 0).shape(), Shape(2, 3, 4, 4, 3, 5));
}

TEST(Tensordot, ShowsAxesThatDoNotFit) {
  const Tensor x = ones({2, 3}), y = ones({4, 5});
  EXPECT_THAT(message_of([&] { tensordot(x, y, 1); }),
              HasSubstr("[tensordot] axis 1 of x and axis 0 of y differ: x (2, 3), y (4, 5)"));
  EXPECT_THAT(message_of([&] { tensordot(x, y, 3); }), HasSubstr("there are no 3 axes of both"));
  EXPECT_THAT(message_of([&] { tensordot(x, y, -1); }), HasSubstr("there are no -1 axes of both"));
  EXPECT_THAT(message_of([&] { tensordot(x, y, {0, 1}, 0); }), HasSubstr("2 axes of x and 1 of y are no pairs"));
  EXPECT_THAT(message_of([&] { tensordot(x, x, {0, 0}, {0, 0}); }), HasSubstr("axis 0 of (2, 3) is named twice"));
  EXPECT_THAT(message_of([&] { tensordot(x, y, 2, 0); }), HasSubstr("there is no axis 2 in (2, 3)"));
  const Tensor many = ones({1, 1, 1, 1});
  EXPECT_THAT(message_of([&] { tensordot(many, many, 0); }), HasSubstr("more than six axes"));
}

}  // namespace
}  // namespace asyncgrad::tests
