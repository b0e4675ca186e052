#include "asyncgrad/core/backend/flops.h"

#include "asyncgrad/core/backend/attributes/products.h"

namespace asyncgrad::detail {

namespace {

// A multiplication and an addition.
constexpr double flops_of_mac = 2;

// For each element of the result and of the inner axis.
double product(const KernelCall& call) {
  const Shape &out = call.shape(0), &x = call.shape(1);
  const std::int64_t rows = out[-2], summed = rows == 0 ? 0 : x[-2] * x[-1] / rows;
  return flops_of_mac * static_cast<double>(out.numel()) * static_cast<double>(summed);
}

// For each element of y and each of a weight (outputs, channels, height, width) under it.
double convolution(const Shape& y, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return flops_of_mac * static_cast<double>(y.numel()) * static_cast<double>(channels * height * width);
}

// q (…, T, D), k (…, S, D), v (…, S, E): `d` products of T S D, and `e` of T S E. A causal row i has i + 1 columns.
double attention(const Shape& q, const Shape& k, const Shape& v, bool is_causal, int d, int e) {
  const std::int64_t width = q[-1] == 0 ? 1 : q[-1];
  const auto rows = static_cast<double>(q.numel() / width);
  const double columns = is_causal ? static_cast<double>(k[-2] + 1) / 2 : static_cast<double>(k[-2]);
  return flops_of_mac * rows * columns * static_cast<double>(d * q[-1] + e * v[-1]);
}

// The products of all states, of n elements, with the weight.
double all_steps(const KernelCall& call, std::int64_t n) {
  const auto& a = call.attributes<RecurrentAttributes>();
  return flops_of_mac * static_cast<double>(a.steps * call.shape(0)[1]) *
         static_cast<double>(gate_count(a.kind) * n * n);
}

}  // namespace

double flops_of(Op op, const KernelCall& call) {
  switch (op) {
    case Op::matmul:
    case Op::dense:
      return product(call);
    case Op::conv:
      return convolution(call.shape(0), call.shape(2)[1], call.shape(2)[2], call.shape(2)[3]);
    case Op::conv_input:
      return convolution(call.shape(1), call.shape(2)[1], call.shape(2)[2], call.shape(2)[3]);
    case Op::conv_weight:
      return convolution(call.shape(2), call.shape(0)[1], call.shape(0)[2], call.shape(0)[3]);
    case Op::attention:
      return attention(call.shape(2), call.shape(3), call.shape(4), call.attributes<AttentionAttributes>().is_causal, 1,
                       1);
    case Op::attention_grad:  // the scores again, and the gradients of q, k, the weights and v
      return attention(call.shape(3), call.shape(4), call.shape(5), call.attributes<AttentionAttributes>().is_causal, 3,
                       2);
    case Op::recurrent:
      return all_steps(call, call.shape(0)[2]);
    case Op::recurrent_grad:
      return all_steps(call, call.shape(0)[2] / gate_count(call.attributes<RecurrentAttributes>().kind));
    default:
      return 0;
  }
}

}  // namespace asyncgrad::detail
