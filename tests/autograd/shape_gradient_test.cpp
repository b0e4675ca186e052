// The gradients of operations that move elements, by shape or by index, by a table of cases.
#include "tests/autograd/operation_case.h"

namespace asyncgrad::tests {
namespace {

const OperationCase shape_gradient_cases[] = {
    {"reshape", {{3, 4}}, [](const Tensors& t) { return square(reshape(t[0], Shape(2, 6))); }},
    {"reshape_of_a_leaf", {{6}}, [](const Tensors& t) { return t[0].reshape(Shape(3, 2)); }},
    {"transpose", {{3, 4}}, [](const Tensors& t) { return square(transpose(t[0])); }},
    {"transpose_outer", {{2, 3, 4}}, [](const Tensors& t) { return transpose(t[0], 0, 2); }},
    {"slice", {{5, 3}}, [](const Tensors& t) { return square(slice(t[0], 1, 4)); }},
    {"slice_of_slices", {{6, 2}}, [](const Tensors& t) { return t[0].slice(1, 6).slice(2, 4) * t[0].slice(0, 2); }},
    {"slice_of_nothing", {{3, 2}}, [](const Tensors& t) { return sum(t[0].slice(1, 1)) + sum(t[0]); }},
    {"slice_with_a_step", {{2, 7}}, [](const Tensors& t) { return square(slice(t[0], 1, 1, 6, 2)); }},
    {"slices_of_one_tensor",
     {{3, 4}},
     [](const Tensors& t) {
       Tensor y = zeros({3, 2}, {.dtype = float64});
       for (int i = 0; i < 3; ++i) y = y + slice(square(t[0]), 1, i, i + 2) * slice(t[0], -1, i, i + 2);
       return y;
     }},
    {"rows",
     {{4, 3}},
     [](const Tensors& t) {
       const Tensor x = square(t[0]);
       return x[1] * x[-1] + x[1] + t[0][2];
     }},
    {"index", {{3, 4}}, [](const Tensors& t) { return square(t[0](all, range({}, {}, 2))) * t[0](1, range(0, 2)); }},
    {"index_backwards",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return square(t[0](ellipsis, range(3, 0, -2))) * t[0](0, newaxis, range({}, {}, -1), 1)(0, 0);
     }},
    {"assign_at_indices",
     {{2, 3}, {3}},
     [](const Tensors& t) {
       Tensor y = square(t[0]);
       y.assign({1, range({}, {}, -1)}, square(t[1]));
       return y * t[0];
     }},
    {"squeeze", {{1, 3, 1}}, [](const Tensors& t) { return squeeze(t[0]) * squeeze(t[0], 0); }},
    {"unsqueeze", {{3}}, [](const Tensors& t) { return unsqueeze(t[0], 1) * t[0]; }},
    {"permute",
     {{2, 3, 4}},
     [](const Tensors& t) {
       return square(permute(t[0], {2, 0, 1}));
     }},
    {"flip",
     {{2, 3, 2}},
     [](const Tensors& t) {
       return flip(t[0], {0, 2}) * t[0];
     }},
    {"expand", {{2, 1, 3}}, [](const Tensors& t) { return square(expand(t[0], Shape(2, 2, 4, 3))); }},
    {"expand_a_scalar", {{}}, [](const Tensors& t) { return expand(t[0], Shape(3)); }},
    {"tile", {{2, 3}}, [](const Tensors& t) { return square(tile(t[0], Shape(2, 2))); }},
    {"tile_to_more_axes", {{2}}, [](const Tensors& t) { return tile(t[0], Shape(3, 1)); }},
    {"tile_four_axes", {{2, 1, 2, 1}}, [](const Tensors& t) { return tile(t[0], Shape(2, 2, 2, 2)); }},
    {"tile_once", {{2, 3}}, [](const Tensors& t) { return tile(t[0], Shape(1, 1)); }},
    {"pad",
     {{2, 3}},
     [](const Tensors& t) {
       return square(pad(t[0], {{1, 0}, {2, 1}}, 0.5));
     }},
    {"concat",
     {{2, 3}, {2, 1}, {2, 2}, {2, 3}, {2, 1}},
     [](const Tensors& t) {
       return square(concat({t[0], t[1], t[2], t[3], t[4]}, 1));
     }},
    {"concat_rows",
     {{2, 3}, {1, 3}},
     [](const Tensors& t) {
       return concat({t[0], t[1], t[0]});
     }},
    {"concat_nothing",
     {{2, 3}, {2, 2}},
     [](const Tensors& t) {
       return concat({slice(t[0], 1, 1, 1), t[1]}, 1) * 2;
     }},
    {"stack",
     {{2, 3}, {2, 3}, {2, 3}, {2, 3}},
     [](const Tensors& t) {
       return square(stack({t[0], t[1], t[2], t[3]}, 1));
     }},
    {"stack_scalars",
     {{}, {}},
     [](const Tensors& t) {
       return stack({t[0], t[1], t[0]});
     }},
    {"split",
     {{2, 6}},
     [](const Tensors& t) {
       const std::vector<Tensor> parts = split(t[0], 3, 1);
       return parts[0] * parts[1] + parts[2];
     }},
    {"assign",
     {{3, 4}, {3, 1}},
     [](const Tensors& t) {
       Tensor y = square(t[0]);
       assign(y, {{1, 0, 3, 2}}, t[1]);
       return y * t[0];
     }},
    {"assign_a_number",
     {{3, 4}},
     [](const Tensors& t) {
       Tensor y = square(t[0]);
       assign(y, {{0, 1, 2}}, 3);
       return y;
     }},
    {"assign_to_a_constant",
     {{2}},
     [](const Tensors& t) {
       const Tensor y = zeros({3, 2}, {.dtype = float64});
       for (int i = 0; i < 2; ++i) assign(y, {{0, i, i + 1}}, t[0] * (i + 1));
       return y;
     }},
    {"take_columns",
     {{2, 4, 3}},
     [](const Tensors& t) {
       return square(take(t[0], int64_tensor({2, 0, 2, 3}, {2, 2}), 1));
     }},
    {"take_twice",
     {{4, 3}},
     [](const Tensors& t) {
       const Tensor x = t[0] * 2;
       return take(x, int64_tensor({2, 0}, {2})) * take(x, int64_tensor({2, 2}, {2}));
     }},
    {"gather",
     {{2, 4}},
     [](const Tensors& t) {
       return square(gather(t[0], int64_tensor({2, 0, 2, 3, 1, 1}, {2, 3}), 1));
     }},
    {"gather_first",
     {{3, 2}},
     [](const Tensors& t) {
       return gather(t[0], int64_tensor({2, 0, 2, 1}, {2, 2}), 0);
     }},
    {"scatter_add",
     {{2, 3}, {2, 4}},
     [](const Tensors& t) {
       return square(scatter_add(t[0], int64_tensor({2, 0, 2, 2, 1, 0, 0, 1}, {2, 4}), t[1], 1));
     }},
    {"put",
     {{2, 3}, {2, 2}},
     [](const Tensors& t) {
       const Tensor y = square(t[0]);
       put(y, int64_tensor({4, 1, 4, 4}, {2, 2}), square(t[1]));
       return y * t[0];
     }},
    {"put_in_a_constant",
     {{3}},
     [](const Tensors& t) {
       const Tensor y = zeros({2, 2}, {.dtype = float64});
       put(y, int64_tensor({3, 0, 2}, {3}), t[0]);
       return square(y);
     }},
    {"masked_fill",
     {{2, 3}},
     [](const Tensors& t) {
       return masked_fill(t[0], float64_tensor({1, 0, 1}, {3}), -2);
     }},
    {"tril", {{2, 3, 4}}, [](const Tensors& t) { return tril(t[0], 1); }},
    {"triu", {{4, 3}}, [](const Tensors& t) { return square(triu(t[0])); }},
    {"take",
     {{4, 3}},
     [](const Tensors& t) {
       return take(t[0], int64_tensor({2, 0, 2, 3, 2}, {5}));
     }},
    {"take_of_a_vector",
     {{4}},
     [](const Tensors& t) {
       return take(t[0], int64_tensor({1, 1, 3}, {3}));
     }},
};

}  // namespace

std::span<const OperationCase> shape_cases() { return shape_gradient_cases; }

namespace {

class ShapeGradient : public ::testing::TestWithParam<OperationCase> {};
TEST_P(ShapeGradient, AgreesWithDifferences) { check_gradients_of(GetParam()); }
TEST_P(ShapeGradient, HasGradientsItself) { check_second_order_of(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, ShapeGradient, ::testing::ValuesIn(shape_gradient_cases), name_of_case);

}  // namespace
}  // namespace asyncgrad::tests
