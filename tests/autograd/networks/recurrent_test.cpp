#include "asyncgrad/autograd/networks/recurrent.h"

#include "asyncgrad/autograd/networks/decomposed.h"
#include "tests/autograd/gradient_check.h"

namespace asyncgrad::tests {
namespace {

using detail::RecurrentCall;
using detail::RecurrentKind;

struct RecurrentCase {
  const char* name;
  RecurrentKind kind;
  bool is_backward, has_lengths;
  std::int64_t steps, sequences, hidden;
  DType dtype = float64;
  friend std::ostream& operator<<(std::ostream& out, const RecurrentCase& row) { return out << row.name; }
};

const RecurrentCase recurrent_cases[] = {
    {"tanh", RecurrentKind::tanh, false, false, 3, 2, 5},
    {"tanh_backward_lengths", RecurrentKind::tanh, true, true, 4, 3, 17},
    {"relu", RecurrentKind::relu, false, true, 4, 3, 5},
    {"gru", RecurrentKind::gru, false, false, 4, 2, 33},
    {"gru_backward_lengths", RecurrentKind::gru, true, true, 4, 3, 5},
    {"gru_one_step", RecurrentKind::gru, true, false, 1, 3, 5},
    {"lstm", RecurrentKind::lstm, false, false, 4, 2, 33},
    {"lstm_backward", RecurrentKind::lstm, true, false, 4, 2, 5},
    {"lstm_lengths", RecurrentKind::lstm, false, true, 4, 3, 5},
    {"lstm_several_tiles", RecurrentKind::lstm, false, true, 3, 600, 16},
    {"lstm_float32", RecurrentKind::lstm, false, true, 4, 3, 35, float32},
    {"gru_float32", RecurrentKind::gru, false, false, 4, 3, 35, float32},
};

class Recurrent : public ::testing::TestWithParam<RecurrentCase> {
 protected:
  using Tensors = std::vector<Tensor>;

  Recurrent() {
    const RecurrentCase& c = GetParam();
    const std::int64_t width = detail::gate_count(c.kind) * c.hidden;
    const Shape shapes[] = {{c.steps, c.sequences, 3}, {3, width}, {width},
                            {c.hidden, width},         {width},    {c.sequences, c.hidden},
                            {c.sequences, c.hidden}};
    for (const Shape& shape : shapes) operands.push_back(random64(shape, 20 + operands.size()).to(c.dtype));
    if (c.kind != RecurrentKind::lstm) operands.pop_back();
    if (!c.has_lengths) return;
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < c.sequences; ++i) values.push_back((i + 1) % (c.steps + 1));
    lengths = int64_tensor(values, {c.sequences});
  }
  RecurrentCall call(const Tensors& t) const {
    return {.kind = GetParam().kind,
            .is_backward = GetParam().is_backward,
            .x = t[0],
            .weight_ih = t[1],
            .bias_ih = t[2],
            .weight_hh = t[3],
            .bias_hh = t[4],
            .h = t[5],
            .c = t.size() > 6 ? t[6] : Tensor(),
            .lengths = lengths,
            .where = {}};
  }
  std::vector<std::vector<double>> results(Tensor (*function)(const RecurrentCall&)) const {
    Tensors leaves;
    for (const Tensor& operand : operands) leaves.push_back(parameter(operand.clone()));
    const Tensor y = function(call(leaves));
    sum(y * random64(y.shape(), 9).to(y.dtype())).backward();
    std::vector<std::vector<double>> found{values(y)};
    for (const Tensor& leaf : leaves) found.push_back(values(leaf.grad()));
    return found;
  }

  Tensors operands;
  Tensor lengths;
};

TEST_P(Recurrent, IsTheDecomposedFormAndHasItsGradients) {
  const auto expected = results(detail::decomposed_recurrent), found = results(detail::recurrent);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(Tensor::from(found[i], {static_cast<std::int64_t>(found[i].size())}), expected[i],
                GetParam().dtype == float64 ? 1e-12 : 1e-4);
  }
}

TEST_P(Recurrent, HasTheGradientsOfGradientsOfTheDecomposedForm) {
  const auto gradients_of = [&](Tensor (*function)(const RecurrentCall&)) {
    Tensors leaves;
    for (const Tensor& operand : operands) leaves.push_back(parameter(operand.clone()));
    const Tensor y = function(call(leaves));
    const Tensors gradients = grad(sum(square(y)), leaves, {}, {.create_graph = true});
    Tensor total = sum(square(gradients[0]));
    for (std::size_t i = 1; i < gradients.size(); ++i) total = total + sum(square(gradients[i]));
    total.backward();
    std::vector<std::vector<double>> found;
    for (const Tensor& leaf : leaves) found.push_back(values(leaf.grad()));
    return found;
  };
  const auto expected = gradients_of(detail::decomposed_recurrent), found = gradients_of(detail::recurrent);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    const Tensor values = Tensor::from(found[i], {static_cast<std::int64_t>(found[i].size())});
    const double largest = max(abs(Tensor::from(expected[i], values.shape()))).item<double>();
    EXPECT_GT(largest, 0);
    expect_near(values, expected[i], (GetParam().dtype == float64 ? 1e-12 : 1e-3) * largest);
  }
}

TEST_P(Recurrent, IsTheSameWithoutGradients) {
  const Tensor y = detail::recurrent(call(operands));
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(values(y), results(detail::recurrent)[0]);
}

INSTANTIATE_TEST_SUITE_P(Table, Recurrent, ::testing::ValuesIn(recurrent_cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace asyncgrad::tests
