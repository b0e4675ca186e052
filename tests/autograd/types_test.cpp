// Tensors of every element type.
#include <functional>
#include <limits>

#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

// The default type for the time of a test.
struct WithDefaultDType {
  explicit WithDefaultDType(DType dtype) { set_default_dtype(dtype); }
  ~WithDefaultDType() { set_default_dtype(float32); }
};

TEST(Types, BoolBesideAFractionHasTheDefaultType) {
  const WithDefaultDType scope(float64);
  const Tensor x = Tensor::from({1.0, -1.0, 2.0}, {3}), mask = x > 0;
  EXPECT_EQ((mask * 0.1).to_vector<double>(), (std::vector<double>{0.1, 0, 0.1}));
  EXPECT_EQ((1.5 - mask).dtype(), float64);
  EXPECT_EQ(maximum(mask, 0.5).dtype(), float64);
  EXPECT_EQ(equal(mask, 0.1).to_vector<bool>(), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(mean(mask).item<double>(), 2.0 / 3);
  EXPECT_EQ(mean(mask, 0).dtype(), float64);
  EXPECT_EQ((mask * 2).dtype(), int64);
  EXPECT_EQ((mask * x).dtype(), float64);
}

TEST(Types, NarrowIntegersServeAsIndicesAndLabels) {
  const Tensor x = Tensor::from({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2});
  const std::vector<int> rows{2, 0, 1};
  const Tensor wide = int64_tensor({2, 0, 1}, {3});
  for (const Tensor& narrow : {Tensor::from(rows, {3}), wide.to(uint8)}) {
    EXPECT_EQ(values(take(x, narrow)), values(take(x, wide)));
    EXPECT_EQ(values(one_hot(narrow, 3)), values(one_hot(wide, 3)));
    const Tensor columns = narrow.reshape({3, 1}), wide_columns = wide.reshape({3, 1});
    const Tensor column = x.reshape({6, 1}).slice(0, 3);
    EXPECT_EQ(values(gather(column, columns, 0)), values(gather(column, wide_columns, 0)));
    const Tensor source = ones({3, 1}, {.dtype = float64}), to = zeros({3, 1}, {.dtype = float64});
    EXPECT_EQ(values(scatter_add(to, columns, source, 0)), values(scatter_add(to, wide_columns, source, 0)));
    const Tensor logits = parameter(random64({3, 3}, 1));
    EXPECT_EQ(values(cross_entropy(logits, narrow)), values(cross_entropy(logits, wide)));
    const Tensor loss = nn::softmax_cross_entropy(logits, narrow);
    EXPECT_EQ(values(loss), values(nn::softmax_cross_entropy(logits, wide)));
    sum(loss).backward();
    EXPECT_TRUE(logits.grad().defined());
    EXPECT_EQ(values(nn::Embedding(3, 2)(narrow)).size(), 6U);
  }
  EXPECT_NE(message_of([&] { take(x, wide.to(bfloat16)); }).find("must be int64"), std::string::npos);
}

const std::vector<DType> all_types = {float32, float64, int64, int32, uint8, bfloat16, boolean};

// 0 or 1, which every type holds.
Tensor pattern(const Shape& shape, DType dtype) {
  Generator generator(5);
  return randint(0, 2, shape, {.generator = &generator}).to(dtype);
}

TEST(Types, AreMadeOfValuesAndGiveThemBack) {
  const std::vector<std::int32_t> whole = {-7, std::numeric_limits<std::int32_t>::max()};
  EXPECT_EQ(Tensor::from(whole, {2}).to_vector<std::int32_t>(), whole);
  EXPECT_EQ(Tensor::from<std::uint8_t>({0, 255}, {2}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255}));
  EXPECT_EQ(Tensor::from({BFloat16(1.5F)}, {1}).to_vector<BFloat16>()[0].bits(), 0x3FC0);
  const std::vector<bool> mask = {true, false, true};
  EXPECT_EQ(Tensor::from(mask, {3}).to_vector<bool>(), mask);
  EXPECT_EQ(Tensor::from({true, false, true}, {3}).to_vector<bool>(), mask);
  EXPECT_EQ(Tensor::from({true}, {}).item<bool>(), true);
  EXPECT_EQ(Tensor::from({true}, {}).item(), 1);
  EXPECT_EQ(Tensor::from({BFloat16(-2)}, {}).item(), -2);
  EXPECT_EQ(message_of([] { zeros({2}, {.dtype = uint8}).to_vector<bool>(); }),
            "[to_vector] the tensor is uint8, not bool; x.to(ag::bool) converts it");
}

// 256 + 1 is 256 in bfloat16.
TEST(Types, GradientsOfBfloat16CountMoreThan256) {
  const Tensor table = parameter(zeros({2, 1})), rows = zeros({1000}, {.dtype = int64});
  sum(take(table.to(bfloat16), rows).to(float32)).backward();
  EXPECT_EQ(table.grad().to_vector<float>(), (std::vector<float>{1000, 0}));
}

TEST(Types, ArePrinted) {
  EXPECT_EQ(Tensor::from({true, false}, {2}).str(), "[true, false]\n(2) bool on cpu");
  EXPECT_EQ(Tensor::from<std::uint8_t>({65, 66}, {2}).str(), "[65, 66]\n(2) uint8 on cpu");
  EXPECT_EQ(Tensor::from({BFloat16(1.5F), BFloat16(-3)}, {2}).str(), "[1.5, -3]\n(2) bfloat16 on cpu");
  EXPECT_EQ(Tensor::from<std::int32_t>({-1}, {1}).str(), "[-1]\n(1) int32 on cpu");
}

TEST(Types, AreConvertedToEachOther) {
  for (const DType from : all_types) {
    for (const DType to : all_types) {
      SCOPED_TRACE(std::string(name(from)) + " to " + name(to));
      const Tensor x = pattern({70001}, from), y = x.to(to);
      EXPECT_EQ(y.dtype(), to);
      EXPECT_EQ(values(y), values(x));
      EXPECT_EQ(zeros({0, 2}, {.dtype = from}).to(to).shape(), Shape(0, 2));
    }
  }
}

TEST(Types, AreConvertedAsInNumpy) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor x = float64_tensor({-infinity, -1.5, -0.5, 0.5, 254.9, 256, 1e10, infinity, nan}, {9});
  EXPECT_EQ(x.to(uint8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0, 0, 0, 254, 255, 255, 255, 0}));
  const std::int32_t lowest = std::numeric_limits<std::int32_t>::min(),
                     highest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(x.to(int32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{lowest, -1, 0, 0, 254, 256, highest, highest, 0}));
  EXPECT_EQ(x.to(boolean).to_vector<bool>(), (std::vector<bool>{true, true, true, true, true, true, true, true, true}));
  EXPECT_EQ(float64_tensor({0, -0.0}, {2}).to(boolean).to_vector<bool>(), (std::vector<bool>{false, false}));
  const Tensor wide = int64_tensor({-(std::int64_t{1} << 40), -1, 300, std::int64_t{1} << 40}, {4});
  EXPECT_EQ(wide.to(int32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, -1, 300, 0}));  // low bits
  EXPECT_EQ(wide.to(int32).to(uint8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 255, 44, 0}));
  EXPECT_EQ(values(float64_tensor({1.00390625, 1e-40, 1e300, nan}, {4}).to(bfloat16).to(int64)),
            (std::vector<double>{1, 0, 9223372036854775807.0, 0}));
}

TEST(Types, AreFilledAndCounted) {
  EXPECT_EQ(values(full({3}, 200, {.dtype = uint8})), (std::vector<double>{200, 200, 200}));
  EXPECT_EQ(message_of([] { full({3}, 256, {.dtype = uint8}); }), "[full] uint8 cannot hold 256; int64 does");
  EXPECT_EQ(values(ones({2}, {.dtype = boolean})), (std::vector<double>{1, 1}));
  EXPECT_EQ(values(arange(-2, 6, 3, {.dtype = int32})), (std::vector<double>{-2, 1, 4}));
  EXPECT_EQ(values(arange(0, 1, 0.25, {.dtype = bfloat16})), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(values(one_hot(int64_tensor({1}, {1}), 3, boolean)), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(randn({5}, {.dtype = bfloat16}).dtype(), bfloat16);
  EXPECT_EQ(message_of([] { randn({5}, {.dtype = uint8}); }),
            "[normal] there are no random numbers of type uint8, as wanted for (5); randint() gives integers");
}

// Operations that only move elements give the same in every type.
TEST(Types, AreMovedAlike) {
  const Tensor rows = int64_tensor({2, 0, 2}, {3});
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> moves = {
      {"clone", [](const Tensor& x) { return x.clone(); }},
      {"row", [](const Tensor& x) { return x[1]; }},
      {"slice", [](const Tensor& x) { return slice(x, 1, 1, 40, 3); }},
      {"transpose", [](const Tensor& x) { return x.transpose(); }},
      {"permute",
       [](const Tensor& x) {
         return permute(x.reshape({3, 7, 11, 1}), {2, 0, 3, 1});
       }},
      {"flip", [](const Tensor& x) { return flip(x, 1); }},
      {"expand",
       [](const Tensor& x) {
         return expand(x, {2, 3, 77});
       }},
      {"tile",
       [](const Tensor& x) {
         return tile(x, {2, 3});
       }},
      {"pad",
       [](const Tensor& x) {
         return pad(x, {{1, 0}, {2, 3}}, 1);
       }},
      {"concat",
       [](const Tensor& x) {
         return concat({x, slice(x, 1, 0, 5), x}, 1);
       }},
      {"stack",
       [](const Tensor& x) {
         return stack({x, x}, 2);
       }},
      {"take", [&](const Tensor& x) { return take(x, rows); }},
      {"take columns", [&](const Tensor& x) { return take(x, rows, 1); }},
      {"gather",
       [&](const Tensor& x) {
         return gather(x, expand(rows.reshape({3, 1}), {3, 77}), 0);
       }},
      {"tril", [](const Tensor& x) { return tril(x, 3); }},
      {"copy_", [](const Tensor& x) { return zeros(x.shape(), {.dtype = x.dtype()}).copy_(x); }},
      {"fill_", [](const Tensor& x) { return x.clone().fill_(1); }}};
  for (const auto& [name_of_move, move] : moves) {
    const std::vector<double> expected = values(move(pattern({3, 77}, float64)));
    for (const DType dtype : all_types) {
      SCOPED_TRACE(std::string(name_of_move) + " of " + name(dtype));
      const Tensor y = move(pattern({3, 77}, dtype));
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(values(y), expected);
    }
  }
}

TEST(Types, OfStorageDoNotCompute) {
  const Tensor bytes = ones({2}, {.dtype = uint8}), half = ones({2}, {.dtype = bfloat16});
  EXPECT_EQ(message_of([&] { bytes + bytes; }), "[add] uint8 is for storage: x uint8 (2); x.to(ag::int64) converts it");
  EXPECT_EQ(message_of([&] { half * 2; }),
            "[multiply] bfloat16 is for storage: x bfloat16 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { exp(half); }),
            "[exp] bfloat16 is for storage: x bfloat16 (2); x.to(ag::float32) converts it");
  EXPECT_EQ(message_of([&] { equal(bytes, 1); }),
            "[equal] uint8 is for storage: x uint8 (2); x.to(ag::int64) converts it");
  EXPECT_EQ(message_of([&] { bytes + ones({2}, {.dtype = boolean}); }),
            "[add] uint8 is for storage: x uint8 (2); x.to(ag::int64) converts it");
  EXPECT_EQ(message_of([&] { bytes + half; }),
            "[add] types differ: x uint8 (2), y bfloat16 (2); y.to(ag::float32) converts y");
  const std::vector<std::function<void()>> others = {
      [&] { sum(bytes); },
      [&] { mean(half); },
      [&] { max(bytes); },
      [&] { argmin(half); },
      [&] { cumsum(bytes, 0); },
      [&] { softmax(half); },
      [&] { norm(half); },
      [&] { any(bytes); },
      [&] { layer_norm(half); },
      [&] { dropout(half, 0.5); },
      [&] { isnan(half); },
      [&] { where(bytes, bytes, bytes); },
      [&] { pow(half, 2); },
      [&] { clip(bytes, 0, 1); },
      [&] { variance(half); },
      [&] { matmul(bytes, bytes); },
      [&] { scatter_add(bytes, int64_tensor({0}, {1}), slice(bytes, 0, 1), 0); },
      [&] { bytes.clone() += 1; }};
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(message_of(others[i]).find("is for storage: "), std::string::npos) << i;
  }
  EXPECT_EQ(message_of([&] { parameter(bytes); }),
            "[requires_grad_] uint8 (2) has no gradient; x.to(ag::float32) may have one");
}

// --- bfloat16 on the tape

TEST(BFloat16Gradient, PassesThroughConversionsAndMoves) {
  const Tensor x = parameter(float64_tensor({1, 2, 3, 4, 5, 6}, {2, 3})), rows = int64_tensor({1, 1, 0}, {3});
  const Tensor h = x.to(bfloat16);
  const Tensor y =
      concat({take(h, rows), tile(h, {2, 1}),
              slice(h, 1, 0, 3, 2).transpose().reshape({-1, 2}).transpose().reshape({-1}).slice(0, 3).reshape({1, 3})});
  EXPECT_TRUE(y.requires_grad());
  sum(y.to(float64)).backward();
  // Each element counts once for every place where it stands: twice for tile, and as often as its row is taken.
  EXPECT_EQ(x.grad().dtype(), float64);
  EXPECT_EQ(sum(x.grad()).item(), 9 + 12 + 3);
  EXPECT_EQ(x.grad().to_vector<double>()[1], 3);
  EXPECT_EQ(x.grad().to_vector<double>()[4], 4);
}

TEST(BFloat16Gradient, ReachesALeafOfItsType) {
  Tensor w = parameter(ones({2}, {.dtype = bfloat16}));
  for (int i = 0; i < 2; ++i) sum(w.to(float32) * 3).backward();
  EXPECT_EQ(w.grad().dtype(), bfloat16);
  EXPECT_EQ(values(w.grad()), (std::vector<double>{6, 6}));
}

// --- products

TEST(BFloat16Product, IsThatOfFloat32Rounded) {
  for (const auto& [xs, ws] : std::vector<std::pair<Shape, Shape>>{{{3, 5}, {5, 4}},
                                                                   {{70, 300}, {300, 130}},
                                                                   {{2, 3, 5}, {5, 4}},
                                                                   {{2, 1, 3, 5}, {4, 5, 2}},
                                                                   {{0, 5}, {5, 4}},
                                                                   {{3, 0}, {0, 2}}}) {
    SCOPED_TRACE(xs.str() + ws.str());
    const Tensor x = random64(xs, 1).to(bfloat16), w = random64(ws, 2).to(bfloat16);
    const Tensor y = matmul(x, w), exact = matmul(x.to(float64), w.to(float64));
    EXPECT_EQ(y.dtype(), bfloat16);
    // The sums are in float32, and the result is rounded to 8 significant bits.
    expect_near(y, values(exact), 0x1p-8);
  }
  const Tensor x = random64({5, 3}, 1).to(bfloat16), w = random64({4, 5}, 2).to(bfloat16);
  EXPECT_EQ(values(matmul(x, w, {.transpose_x = true, .transpose_w = true})),
            values(matmul(x.transpose().clone(), w.transpose().clone())));
  EXPECT_EQ(message_of([&] { matmul(x, w.to(float32)); }),
            "[matmul] types differ: x bfloat16 (5, 3), w float32 (4, 5); x.to(ag::float32) converts x");
  EXPECT_NE(message_of([&] {
              matmul(ones({2, 2}, {.dtype = int32}), ones({2, 2}, {.dtype = int32}));
            }).find("int32"),
            std::string::npos);
}

TEST(BFloat16Product, HasTheGradientsOfFloat32Rounded) {
  const auto gradients = [](DType dtype) {
    const Tensor x = parameter(random64({2, 6, 5}, 1).to(bfloat16).to(float32));
    const Tensor w = parameter(random64({5, 4}, 2).to(bfloat16).to(float32));
    sum(square(matmul(x.to(dtype), w.to(dtype)).to(float32))).backward();
    return std::vector{x.grad(), w.grad()};
  };
  const std::vector<Tensor> expected = gradients(float32), found = gradients(bfloat16);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_near(found[i], values(expected[i]), 0x1p-6);
}

}  // namespace
}  // namespace asyncgrad::tests
