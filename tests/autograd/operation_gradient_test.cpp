// The gradients of all operations that are not elementwise, by a table of cases; shape_gradient_test.cpp has those that
// move elements.
#include <limits>

#include "asyncgrad/autograd/networks/recurrent.h"
#include "tests/autograd/operation_case.h"

namespace asyncgrad::tests {
namespace {

const OperationCase cases[] = {
    {"matmul", {{3, 4}, {4, 2}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_transposed_x",
     {{4, 3}, {4, 2}},
     [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_x = true}); }},
    {"matmul_transposed_w",
     {{3, 4}, {2, 4}},
     [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_w = true}); }},
    {"matmul_transposed_both",
     {{4, 3}, {2, 4}},
     [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_x = true, .transpose_w = true}); }},
    {"matmul_of_batches", {{2, 3, 4}, {2, 4, 2}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_broadcast", {{2, 1, 3, 4}, {3, 4, 2}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_broadcast_transposed",
     {{1, 4, 3}, {3, 2, 4}},
     [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_x = true, .transpose_w = true}); }},
    {"matmul_all_rows", {{2, 3, 4}, {4, 2}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_all_rows_transposed_w",
     {{2, 3, 4}, {2, 4}},
     [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_w = true}); }},
    {"matmul_batches_of_columns",
     {{2, 4, 3}, {4, 2}},
     [](const Tensors& t) { return matmul(t[0], t[1], {.transpose_x = true}); }},
    {"matmul_of_one_matrix_and_batches", {{3, 4}, {2, 4, 2}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_by_a_vector", {{2, 3, 4}, {4}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_of_a_vector", {{4}, {2, 4, 3}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_of_vectors", {{4}, {4}}, [](const Tensors& t) { return matmul(t[0], t[1]); }},
    {"matmul_of_itself", {{3, 3}}, [](const Tensors& t) { return matmul(t[0], t[0]); }},
    {"einsum", {{2, 3}, {3, 4}}, [](const Tensors& t) { return einsum("ij,jk->ki", {t[0], t[1]}); }},
    {"einsum_of_diagonals", {{3, 3}, {3, 2}}, [](const Tensors& t) { return einsum("ii,ij->ij", {t[0], t[1]}); }},
    {"einsum_of_three",
     {{2, 3}, {1, 3}, {3, 2}},
     [](const Tensors& t) {
       return einsum("...i,...i,ij->j...", {t[0], t[1], t[2]});
     }},
    {"tensordot", {{2, 3, 2}, {2, 3, 2}}, [](const Tensors& t) { return tensordot(t[0], t[1], {0, 1}, {2, 1}); }},
    {"dense", {{3, 4}, {4, 2}, {2}}, [](const Tensors& t) { return dense(t[0], t[1], t[2]); }},
    {"dense_without_bias", {{3, 4}, {4, 2}}, [](const Tensors& t) { return dense(t[0], t[1], Tensor()); }},
    {"dense_relu", {{5, 4}, {4, 3}, {3}}, [](const Tensors& t) { return dense(t[0], t[1], t[2], relu); }},
    {"dense_relu_without_bias", {{5, 4}, {4, 3}}, [](const Tensors& t) { return dense(t[0], t[1], Tensor(), relu); }},
    {"dense_tanh", {{3, 4}, {4, 2}, {2}}, [](const Tensors& t) { return dense(t[0], t[1], t[2], tanh); }},
    {"sum", {{2, 3, 4}}, [](const Tensors& t) { return sum(t[0]); }},
    {"sum_of_a_scalar", {{}}, [](const Tensors& t) { return sum(t[0]); }},
    {"sum_first", {{2, 3, 4}}, [](const Tensors& t) { return sum(t[0], 0); }},
    {"sum_middle", {{2, 3, 4}}, [](const Tensors& t) { return sum(t[0], 1, true); }},
    {"sum_last", {{2, 3, 4}}, [](const Tensors& t) { return sum(t[0], -1); }},
    {"sum_apart",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return sum(t[0], {0, 2});
     }},
    {"sum_apart_kept",
     {{2, 3, 2, 3}},
     [](const Tensors& t) {
       return sum(t[0], {-1, 1}, true);
     }},
    {"prod", {{2, 3}}, [](const Tensors& t) { return prod(t[0]); }},
    {"prod_of_a_scalar", {{}}, [](const Tensors& t) { return prod(t[0]); }},
    {"prod_first_of_zeros", {{3, 4}}, [](const Tensors& t) { return prod(t[0] * floor(t[0] * 3), 0, true); }},
    {"prod_apart",
     {{2, 3, 2, 2}},
     [](const Tensors& t) {
       return prod(t[0], {-1, 0});
     }},
    {"mean", {{2, 3}}, [](const Tensors& t) { return mean(t[0]); }},
    {"mean_apart",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return mean(t[0], {0, 2});
     }},
    {"mean_last_kept", {{2, 3}}, [](const Tensors& t) { return mean(t[0], 1, true); }},
    {"max_first", {{4, 3}}, [](const Tensors& t) { return max(t[0], 0); }},
    {"max_middle_kept", {{2, 4, 3}}, [](const Tensors& t) { return max(t[0], 1, true); }},
    {"max_last", {{4, 3}}, [](const Tensors& t) { return max(t[0], -1); }},
    {"max_all", {{4, 3}}, [](const Tensors& t) { return max(t[0]); }},
    {"max_adjacent",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return max(t[0], {1, 2});
     }},
    {"max_apart",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return max(t[0], {0, 2});
     }},
    {"max_apart_kept",
     {{2, 3, 2, 3}},
     [](const Tensors& t) {
       return max(t[0], {-1, 1}, true);
     }},
    {"max_of_no_axes", {{2, 3}}, [](const Tensors& t) { return max(t[0], {}); }},
    {"min_all", {{4, 3}}, [](const Tensors& t) { return min(t[0]); }},
    {"min_last", {{4, 3}}, [](const Tensors& t) { return min(t[0], -1); }},
    {"min_apart",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return min(t[0], {0, 2});
     }},
    {"variance", {{3, 4}}, [](const Tensors& t) { return variance(t[0]); }},
    {"variance_last_kept", {{3, 4}}, [](const Tensors& t) { return variance(t[0], -1, true); }},
    {"variance_of_a_sample",
     {{3, 2, 4}},
     [](const Tensors& t) {
       return variance(t[0], {0, 2}, false, 1);
     }},
    {"norm", {{3, 4}}, [](const Tensors& t) { return norm(t[0]); }},
    {"norm_first", {{3, 4}}, [](const Tensors& t) { return norm(t[0], 0); }},
    {"norm_apart_kept",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return norm(t[0], {0, 2}, true);
     }},
    {"logsumexp", {{3, 4}}, [](const Tensors& t) { return logsumexp(t[0]); }},
    {"logsumexp_first", {{3, 4}}, [](const Tensors& t) { return logsumexp(t[0], 0); }},
    {"logsumexp_apart_kept",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return logsumexp(t[0] * 30, {0, 2}, true);
     }},
    {"sort", {{3, 4}}, [](const Tensors& t) { return square(sort(t[0], {.axis = 0, .descending = true}).values); }},
    {"topk", {{3, 4}}, [](const Tensors& t) { return square(topk(t[0], 2).values); }},
    {"index_add",
     {{3, 2}, {4, 2}},
     [](const Tensors& t) {
       return square(index_add(t[0], Tensor::from<std::int64_t>({2, 0, 2, 2}, {4}), t[1], 0));
     }},
    {"masked_select", {{3, 4}}, [](const Tensors& t) { return square(masked_select(t[0], t[0] > 0)); }},
    {"max_pool1d", {{2, 3, 7}}, [](const Tensors& t) { return square(max_pool1d(t[0], 3, {.stride = 2, .padding = 1})); }},
    {"avg_pool1d", {{2, 3, 7}}, [](const Tensors& t) { return square(avg_pool1d(t[0], 2)); }},
    {"interpolate_nearest", {{2, 3, 4, 5}}, [](const Tensors& t) { return square(interpolate(t[0], {7, 3})); }},
    {"interpolate_bilinear",
     {{1, 2, 3, 4}},
     [](const Tensors& t) { return square(interpolate(t[0], {5, 7}, {.mode = Interpolation::bilinear})); }},
    {"cumsum_first", {{4, 3}}, [](const Tensors& t) { return square(cumsum(t[0], 0)); }},
    {"cumsum_middle", {{2, 4, 3}}, [](const Tensors& t) { return square(cumsum(t[0], 1)); }},
    {"cumsum_last", {{3, 5}}, [](const Tensors& t) { return square(cumsum(t[0], -1)); }},
    {"softmax", {{3, 5}}, [](const Tensors& t) { return softmax(t[0]); }},
    {"softmax_middle", {{2, 4, 3}}, [](const Tensors& t) { return softmax(t[0], 1); }},
    {"log_softmax", {{3, 5}}, [](const Tensors& t) { return log_softmax(t[0]); }},
    {"log_softmax_first", {{4, 3}}, [](const Tensors& t) { return log_softmax(t[0], 0); }},
    {"cross_entropy",
     {{4, 3}},
     [](const Tensors& t) {
       return cross_entropy(t[0], int64_tensor({0, 2, 1, 2}, {4}));
     }},
    {"ctc",
     {{4, 2, 3}},
     [](const Tensors& t) {
       const Tensor targets = int64_tensor({1, 1, 2, 9}, {2, 2}), inputs = int64_tensor({4, 3}, {2});
       return ctc(log_softmax(t[0]), targets, inputs, int64_tensor({2, 1}, {2}));
     }},
    {"layer_norm",
     {{3, 5}, {5}, {5}},
     [](const Tensors& t) { return layer_norm(t[0], t[1], t[2]); }},
    {"layer_norm_of_two_axes",
     {{3, 2, 3}, {2, 3}, {2, 3}},
     [](const Tensors& t) {
       return layer_norm(t[0], t[1], t[2], {.axes = 2});
     }},
    {"layer_norm_without_weights", {{2, 2, 4}}, [](const Tensors& t) { return layer_norm(t[0]); }},
    {"rms_norm", {{3, 5}, {5}}, [](const Tensors& t) { return rms_norm(t[0], t[1]); }},
    {"group_norm", {{2, 4, 3}, {4}, {4}}, [](const Tensors& t) { return group_norm(t[0], 2, t[1], t[2]); }},
    {"group_norm_of_rows", {{3, 6}, {6}}, [](const Tensors& t) { return group_norm(t[0], 2, t[1]); }},
    {"group_norm_without_weights", {{2, 2, 2, 2}}, [](const Tensors& t) { return group_norm(t[0], 1); }},
    {"conv2d", {{2, 2, 4, 4}, {3, 2, 2, 3}, {3}}, [](const Tensors& t) { return conv2d(t[0], t[1], t[2]); }},
    {"conv2d_of_itself", {{2, 2, 2, 2}}, [](const Tensors& t) { return conv2d(t[0], t[0], {}, {.padding = 1}); }},
    {"conv_transpose2d",
     {{2, 2, 2, 3}, {2, 3, 2, 3}, {3}},
     [](const Tensors& t) { return conv_transpose2d(t[0], t[1], t[2], {.stride = 2, .padding = {0, 1}}); }},
    {"conv_transpose1d", {{2, 2, 3}, {2, 3, 2}}, [](const Tensors& t) { return conv_transpose1d(t[0], t[1]); }},
    {"conv1d", {{2, 2, 5}, {3, 2, 2}}, [](const Tensors& t) { return conv1d(t[0], t[1]); }},
    {"max_pool2d", {{1, 2, 4, 5}}, [](const Tensors& t) { return max_pool2d(t[0], 2, {.stride = 1}); }},
    {"avg_pool2d", {{1, 2, 4, 5}}, [](const Tensors& t) { return avg_pool2d(t[0], 2, {.stride = 1}); }},
    {"batch_norm", {{4, 2, 3}, {2}, {2}}, [](const Tensors& t) { return batch_norm(t[0], t[1], t[2]).y; }},
    {"batch_norm_without_weights", {{5, 2}}, [](const Tensors& t) { return batch_norm(t[0]).y; }},
    {"batch_norm_with",
     {{4, 2, 3}, {2}, {2}},
     [](const Tensors& t) {
       const Tensor mean = Tensor::from({0.5, -0.25}, {2}), variance = Tensor::from({2.0, 0.5}, {2});
       return batch_norm_with(t[0], mean, variance, t[1], t[2]);
     }},
    {"dropout",
     {{4, 9}},
     [](const Tensors& t) {
       Generator generator(1);
       return square(dropout(t[0], 0.4, &generator));
     }},
    {"attention",
     {{2, 3, 4}, {2, 5, 4}, {2, 5, 2}},
     [](const Tensors& t) { return scaled_dot_product_attention(t[0], t[1], t[2]); }},
    {"attention_causal",
     {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
     [](const Tensors& t) {
       return scaled_dot_product_attention(t[0], t[1], t[2], {.causal = true});
     }},
    {"attention_masked",
     {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {3, 1}},
     [](const Tensors& t) {
       return scaled_dot_product_attention(t[0], t[1], t[2], {.mask = square(t[3])});
     }},
    {"attention_of_itself",
     {{2, 3, 4}},
     [](const Tensors& t) { return scaled_dot_product_attention(t[0], t[0], t[0]); }},
    {"recurrent",
     {{2, 2, 3}, {3, 2}, {2}, {2, 2}, {2}, {2, 2}},
     [](const Tensors& t) {
       return detail::recurrent({.kind = detail::RecurrentKind::tanh,
                                 .is_backward = false,
                                 .x = t[0],
                                 .weight_ih = t[1],
                                 .bias_ih = t[2],
                                 .weight_hh = t[3],
                                 .bias_hh = t[4],
                                 .h = t[5],
                                 .c = {},
                                 .lengths = {},
                                 .where = {}});
     }},
    {"where_of_bool", {{3, 2}, {2}}, [](const Tensors& t) { return where(t[0] > t[1], square(t[0]), t[0] * t[1]); }},
    {"product_with_bool", {{3, 2}}, [](const Tensors& t) { return square(t[0]) * (t[0] > 0.1) - (t[0] < 0.3) * t[0]; }},
    {"clone", {{3, 2}}, [](const Tensors& t) { return clone(t[0]); }},
    {"to_itself", {{3, 2}}, [](const Tensors& t) { return t[0].to(float64).to("cpu"); }},
    {"add_in_place",
     {{2, 3}, {3}},
     [](const Tensors& t) {
       Tensor y = t[0] * 2;
       y += t[1];
       return y;
     }},
    {"subtract_in_place",
     {{2, 3}, {2, 1}},
     [](const Tensors& t) {
       Tensor y = t[0] * 2;
       y -= t[1];
       return square(y);
     }},
    {"multiply_in_place",
     {{2, 3}, {2, 3}},
     [](const Tensors& t) {
       Tensor y = t[0] + 1;
       y *= t[1];
       y *= 3;
       return y;
     }},
    {"square_in_place",
     {{2, 3}},
     [](const Tensors& t) {
       Tensor y = t[0] + 0;
       y *= y;
       return y;
     }},
    {"in_place_by_what_it_was_computed_beside",
     {{2, 3}},
     [](const Tensors& t) {
       Tensor y = t[0] + 0, scale = t[0] + 1;
       const Tensor& itself = y;
       y *= scale;
       y -= itself;
       y += scale * scale;
       return y;
     }},
    {"in_place_on_a_constant",
     {{3}},
     [](const Tensors& t) {
       Tensor y = ones({2, 3}, {.dtype = float64});
       y *= t[0];
       y += t[0];
       return y;
     }},
    {"copy_in_place",
     {{2, 3}, {2, 3}},
     [](const Tensors& t) {
       Tensor y = t[0] * 2;
       const Tensor before = square(y) * 1;
       y.copy_(t[1]);
       return y + t[0];
     }},
    {"one_tensor_twice", {{3}}, [](const Tensors& t) { return t[0] * t[0] + t[0] / (t[0] + 3); }},
    {"diamond",
     {{2, 2}},
     [](const Tensors& t) {
       const Tensor shared = tanh(t[0]);
       return matmul(shared, shared) + exp(shared) * sum(shared);
     }},
};

}  // namespace

std::span<const OperationCase> operation_cases() { return cases; }

namespace {

class OperationGradient : public ::testing::TestWithParam<OperationCase> {};
TEST_P(OperationGradient, AgreesWithDifferences) { check_gradients_of(GetParam()); }
TEST_P(OperationGradient, HasGradientsItself) { check_second_order_of(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, OperationGradient, ::testing::ValuesIn(cases), name_of_case);

// Differences are too coarse for float32; the gradient passes through the conversion both ways.
TEST(ConversionGradient, IsThatOfTheOtherType) {
  Tensor x = parameter(Tensor::from({1.5, -2.0}, {2}));
  const Tensor y = x.to(float32);
  EXPECT_EQ(y.dtype(), float32);
  sum(y * 3).backward();
  EXPECT_EQ(x.grad().dtype(), float64);
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{3, 3}));
  EXPECT_FALSE(x.to(int64).requires_grad());
}

TEST(MaxGradient, IsSharedByEquals) {
  Tensor x = parameter(Tensor::from({2.0, 5.0, 5.0, 1.0}, {1, 4}));
  sum(max(x, 1)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 0.5, 0.5, 0}));
}

TEST(MaxGradient, IsSharedByEqualsOfAllAxes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {5, 1, 5, 0, 5, 2, 5, 3};
  const auto gradient = [&](auto reduce, const std::vector<double>& of) {
    Tensor x = parameter(Tensor::from(of, {2, 2, 2}));
    sum(reduce(x)).backward();
    return x.grad().to_vector<double>();
  };
  const std::vector<double> quarters = {0.25, 0, 0.25, 0, 0.25, 0, 0.25, 0};
  EXPECT_EQ(gradient([](const Tensor& x) { return max(x); }, values), quarters);
  EXPECT_EQ(gradient([](const Tensor& x) { return -min(-x); }, values), quarters);
  const auto over_outer_axes = [](const Tensor& x) { return max(x, {0, 2}); };
  EXPECT_EQ(gradient(over_outer_axes, values), (std::vector<double>{0.5, 0, 0.5, 0, 0.5, 0, 0.5, 0}));
  EXPECT_EQ(gradient(over_outer_axes, {nan, 1, 5, 0, nan, 2, 4, 3}), (std::vector<double>{0.5, 0, 1, 0, 0.5, 0, 0, 0}));
}

TEST(NormGradient, OfNothingButZerosIsZero) {
  Tensor x = parameter(Tensor::from({0.0, 0.0, 3.0, 4.0}, {2, 2}));
  const Tensor y = norm(x, 1);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{0, 5}));
  sum(y).backward();
  expect_near(x.grad(), {0, 0, 0.6, 0.8});
}

TEST(LogsumexpGradient, IgnoresTermsThatVanish) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = parameter(Tensor::from({-infinity, 0.0, -infinity, -infinity, infinity, 1.0}, {3, 2}));
  sum(logsumexp(x, 1)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 1, 0, 0, 1, 0}));
}

TEST(MaximumGradient, IsSharedByEquals) {
  Tensor x = parameter(Tensor::from({2.0, 5.0}, {2})), y = parameter(Tensor::from({2.0, 4.0}, {2}));
  sum(maximum(x, y)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(y.grad().to_vector<double>(), (std::vector<double>{0.5, 0}));
}

TEST(LogsumexpGradient, HasGradientsItselfWhereAllTermsVanish) {
  const Tensor x = parameter(full({2}, -INFINITY));
  const Tensor first = grad(logsumexp(x), {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(grad(sum(first), {x})[0].to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(DivergenceGradient, HasGradientsItselfWhereTheLabelIsZero) {
  const Tensor x = full({2}, -INFINITY), y = parameter(zeros({2})), w = parameter(ones({2}));
  const Tensor first = grad(sum(divergence(x, y) * w), {y}, {}, {.create_graph = true})[0];
  EXPECT_EQ(grad(sum(first), {w})[0].to_vector<float>(), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace asyncgrad::tests
