#include "asyncgrad/autograd/attention.h"

#include "asyncgrad/autograd/networks/decomposed.h"
#include "tests/autograd/support.h"

namespace asyncgrad::tests {
namespace {

struct AttentionOperands {
  Tensor q, k, v;
};

struct AttentionCase {
  const char* name;
  Shape leading;
  std::int64_t queries, keys, features, values;
  bool causal = false;
  Shape mask{};  // of rank 0: none

  friend std::ostream& operator<<(std::ostream& out, const AttentionCase& row) { return out << row.name; }
};

// Blocks have 128 queries and 256 keys.
const AttentionCase attention_cases[] = {
    {"matrices", {}, 5, 7, 4, 3},
    {"one_key", {2}, 3, 1, 2, 2},
    {"one_query", {2, 2}, 1, 300, 8, 5},
    {"several_axes", {2, 3, 2}, 6, 6, 4, 4, true},
    {"whole_blocks", {1}, 256, 512, 16, 16},
    {"cut_blocks", {2}, 200, 300, 8, 6},
    {"cut_blocks_causal", {2}, 300, 600, 8, 6, true},
    {"fewer_keys_causal", {1}, 400, 70, 8, 8, true},
    {"many_batches_causal", {3, 4}, 150, 280, 4, 4, true},
    {"masked", {2, 3}, 5, 6, 4, 4, false, {5, 6}},
    {"masked_per_key", {2, 3}, 140, 270, 4, 4, false, {2, 1, 1, 270}},
    {"masked_per_query", {3}, 140, 270, 4, 4, false, {140, 1}},
    {"masked_fully_causal", {2, 2}, 140, 270, 4, 4, true, {2, 2, 140, 270}},
};

class Attention : public ::testing::TestWithParam<AttentionCase> {
 protected:
  Attention() {
    const AttentionCase& c = GetParam();
    const auto with = [&](std::int64_t rows, std::int64_t columns) {
      Shape shape = c.leading;
      shape.append(rows);
      shape.append(columns);
      return shape;
    };
    operands = {random64(with(c.queries, c.features), 1, -2, 2), random64(with(c.keys, c.features), 2, -2, 2),
                random64(with(c.keys, c.values), 3)};
    options.causal = c.causal;
    if (c.mask.rank() == 0) return;
    const Tensor noise = random64(c.mask, 4);
    options.mask = masked_fill(noise, less(noise, -0.7), -infinity);
  }
  AttentionOptions options_in(DType dtype) const {
    AttentionOptions other = options;
    if (options.mask.defined()) other.mask = options.mask.to(dtype);
    return other;
  }
  AttentionOperands operands_in(DType dtype) const {
    return {operands.q.to(dtype), operands.k.to(dtype), operands.v.to(dtype)};
  }

  AttentionOperands operands;
  AttentionOptions options;
};

TEST_P(Attention, IsTheDecomposedForm) {
  const std::vector<double> expected =
      values(detail::decomposed_attention(operands.q, operands.k, operands.v, options));
  expect_near(scaled_dot_product_attention(operands.q, operands.k, operands.v, options), expected);
  const AttentionOperands o = operands_in(float32);
  expect_near(scaled_dot_product_attention(o.q, o.k, o.v, options_in(float32)), expected, 1e-5);
}

template <class Function>
std::vector<std::vector<double>> gradients(Function attention, const AttentionOperands& o) {
  Tensor leaves[] = {parameter(o.q.clone()), parameter(o.k.clone()), parameter(o.v.clone())};
  const Tensor y = attention(leaves[0], leaves[1], leaves[2]);
  sum(y * random64(y.shape(), 9).to(y.dtype())).backward();
  return {values(leaves[0].grad()), values(leaves[1].grad()), values(leaves[2].grad())};
}

TEST_P(Attention, HasTheGradientsOfTheDecomposedForm) {
  const auto expected = gradients(
      [&](const Tensor& q, const Tensor& k, const Tensor& v) { return detail::decomposed_attention(q, k, v, options); },
      operands);
  for (const DType dtype : {float64, float32}) {
    const AttentionOptions wanted = options_in(dtype);
    const auto found = gradients([&](const Tensor& q, const Tensor& k,
                                     const Tensor& v) { return scaled_dot_product_attention(q, k, v, wanted); },
                                 operands_in(dtype));
    for (std::size_t i = 0; i < 3; ++i) {
      SCOPED_TRACE(i);
      expect_near(Tensor::from(found[i], {static_cast<std::int64_t>(found[i].size())}), expected[i],
                  dtype == float64 ? 1e-11 : 2e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Attention, ::testing::ValuesIn(attention_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Attention, TakesAMaskOfBool) {
  const Tensor q = random64({2, 5, 4}, 1), k = random64({2, 6, 4}, 2), v = random64({2, 6, 3}, 3);
  const Tensor is_seen = random64({5, 6}, 4) > -0.5;
  const Tensor added = where(is_seen, zeros({}, {.dtype = float64}), full({}, -infinity, {.dtype = float64}));
  for (const bool causal : {false, true}) {
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = causal, .mask = is_seen});
    expect_near(y, values(scaled_dot_product_attention(q, k, v, {.causal = causal, .mask = added})));
  }
  const Tensor none = scaled_dot_product_attention(q, k, v, {.mask = zeros({}, {.dtype = boolean})});
  expect_near(none, std::vector<double>(30, 0.0));
  EXPECT_NE(message_of([&] {
              scaled_dot_product_attention(q, k, v, {.mask = ones({7}, {.dtype = boolean})});
            }).find("cannot be repeated"),
            std::string::npos);
}

TEST(Attention, TakesAScale) {
  const Tensor q = random64({3, 4}, 1), k = random64({5, 4}, 2), v = random64({5, 2}, 3);
  expect_near(scaled_dot_product_attention(q, k, v, {.scale = 0.25}),
              values(matmul(softmax(matmul(q, k.transpose()) * 0.25), v)));
  expect_near(scaled_dot_product_attention(q, k, v), values(matmul(softmax(matmul(q, k.transpose()) * 0.5), v)));
}

TEST(Attention, OfLargeScoresDoesNotOverflow) {
  const Tensor q = full({1, 1}, 1e4), k = Tensor::from({1.0f, 1.0f, -1.0f}, {3, 1});
  const Tensor v = Tensor::from({2.0f, 4.0f, 8.0f}, {3, 1});
  EXPECT_EQ(scaled_dot_product_attention(q, k, v).to_vector<float>(), (std::vector<float>{3}));
}

// A row whose keys are all hidden gives zeros and passes no gradient on.
TEST(Attention, OfFullyMaskedRowsIsZero) {
  const Tensor mask = float64_tensor({0, -infinity, -infinity, -infinity, 0, 0}, {3, 2});
  Tensor q = parameter(random64({3, 4}, 1)), k = parameter(random64({2, 4}, 2)), v = parameter(random64({2, 4}, 3));
  const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
  EXPECT_EQ(values(y.slice(1, 2)), std::vector<double>(4, 0));
  EXPECT_EQ(values(y.slice(0, 1)), values(v.slice(0, 1)));
  sum(square(y)).backward();
  EXPECT_EQ(values(q.grad().slice(1, 2)), std::vector<double>(4, 0));
  for (const Tensor& leaf : {q, k, v}) {
    for (const double gradient : values(leaf.grad())) EXPECT_TRUE(std::isfinite(gradient));
  }
}

TEST(Attention, OfARowWithANaNIsNaNInThatRowAlone) {
  const Tensor q = float64_tensor({1, nan, 2}, {3, 1}), k = random64({4, 1}, 2), v = random64({4, 2}, 3);
  const std::vector<double> y = values(scaled_dot_product_attention(q, k, v));
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 2 == 1) << i;
}

TEST(Attention, HasAGradientOfTheMask) {
  const Tensor q = random64({2, 3, 4}, 1), k = random64({2, 5, 4}, 2), v = random64({2, 5, 4}, 3);
  Tensor mask = parameter(random64({3, 5}, 4)), same = parameter(mask.detach().clone());
  const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
  expect_near(y, values(scaled_dot_product_attention(q, k, v, {.mask = mask.detach()})));
  sum(y * y).backward();
  const Tensor scores = matmul(q, k, {.transpose_w = true}) * 0.5 + same;
  sum(square(matmul(softmax(scores), v))).backward();
  expect_near(mask.grad(), values(same.grad()));
}

TEST(Attention, OfNothing) {
  const auto gradients_of = [](const Shape& q, const Shape& k) {
    Tensor x = parameter(ones(q)), y = parameter(ones(k)), z = parameter(ones(k));
    const Tensor out = scaled_dot_product_attention(x, y, z);
    EXPECT_EQ(out.shape(), q);
    for (const double value : values(out)) EXPECT_EQ(value, 0);
    sum(out).backward();
    for (const Tensor& leaf : {x, y, z}) {
      for (const double gradient : values(leaf.grad())) EXPECT_EQ(gradient, 0);
    }
  };
  gradients_of({2, 300, 3}, {2, 0, 3});
  gradients_of({2, 0, 3}, {2, 300, 3});
  gradients_of({0, 300, 3}, {0, 300, 3});
  gradients_of({9, 3, 3}, {9, 0, 3});
}

TEST(Attention, DoesNotDependOnTheWorkers) {
  expect_same_for_all_workers([] {
    const Tensor q = parameter(random64({2, 400, 16}, 1).to(float32));
    const Tensor k = parameter(random64({2, 500, 16}, 2).to(float32)),
                 v = parameter(random64({2, 500, 16}, 3).to(float32));
    const Tensor weight = parameter(ones({16}));
    Generator generator(4);
    const Tensor y =
        dropout(layer_norm(scaled_dot_product_attention(q, k, v, {.causal = true}), weight), 0.1, &generator);
    sum(square(y)).backward();
    return std::vector{y, q.grad(), k.grad(), v.grad(), weight.grad()};
  });
}

TEST(Attention, HoldsNoScores) {
  constexpr std::int64_t length = 4096, width = 16;
  Tensor q = parameter(randn({length, width})), k = parameter(randn({length, width})),
         v = parameter(randn({length, width}));
  wait_all();
  reset_peaks();
  sum(scaled_dot_product_attention(q, k, v, {.causal = true})).backward();
  wait_all();
  EXPECT_LE(memory_figures().peak_live_bytes, 3 * 3 * length * width * 4);
}

TEST(Attention, RefusesWhatDoesNotFitAtTheCall) {
  const std::string name = "[scaled_dot_product_attention] ";
  const Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(
      message_of([&] {
        scaled_dot_product_attention(x, zeros({3, 4}), x);
      }),
      name +
          "needs q (…, T, D), k (…, S, D), v (…, S, E) with the same leading axes: q (2, 3, 4), k (3, 4), v (2, 3, 4)");
  EXPECT_EQ(message_of([&] {
              scaled_dot_product_attention(x, zeros({2, 3, 5}), x);
            }),
            name + "needs q (…, T, D), k (…, S, D), v (…, S, E) with D > 0: q (2, 3, 4), k (2, 3, 5), v (2, 3, 4)");
  EXPECT_EQ(message_of([&] {
              scaled_dot_product_attention(x, x, zeros({2, 4, 4}));
            }),
            name + "needs q (…, T, D), k (…, S, D), v (…, S, E) with D > 0: q (2, 3, 4), k (2, 3, 4), v (2, 4, 4)");
  EXPECT_EQ(message_of([&] {
              scaled_dot_product_attention(x, x, x, {.mask = zeros({2, 3})});
            }),
            name +
                "the mask cannot be repeated to the scores' shape: mask (2, 3), scores (2, 3, 3); from the last axis "
                "on, extents are to be equal or 1");
  EXPECT_EQ(message_of([&] { scaled_dot_product_attention(x, x, x, {.scale = nan}); }),
            name + "the scale must be finite, got nan");
  const Tensor integers = zeros({2, 3}, {.dtype = int64});
  EXPECT_EQ(message_of([&] { scaled_dot_product_attention(integers, integers, integers); }),
            name + "int64 is not supported: q int64 (2, 3); q.to(ag::float32) converts it");
  EXPECT_TRUE(
      has_parts(message_of([&] { scaled_dot_product_attention(x, x, x.to(float64)); }), {name, "float32", "float64"}));
  EXPECT_EQ(message_of([&] { scaled_dot_product_attention(x, Tensor(), x); }),
            name + "a tensor that holds nothing, as Tensor{} does; assign one with values to it first");
}

}  // namespace
}  // namespace asyncgrad::tests
