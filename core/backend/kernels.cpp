#include "asyncgrad/core/backend/kernels.h"

#include <utility>

namespace asyncgrad::detail {

namespace {

// The names stand in the order of Op, one a line; some operations are named by their attributes.
// clang-format off
constexpr std::array<const char*, op_count> op_names = {"fill",
                                                        "arange",
                                                        "uniform",
                                                        "normal",
                                                        "randint",
                                                        "permutation",
                                                        "copy",
                                                        "elementwise",
                                                        "matmul",
                                                        "dense",
                                                        "dense_grad",
                                                        "sum",
                                                        "max",
                                                        "min",
                                                        "any",
                                                        "all",
                                                        "max_grad",
                                                        "argmax",
                                                        "argmin",
                                                        "cumsum",
                                                        "softmax",
                                                        "softmax_grad",
                                                        "log_softmax",
                                                        "log_softmax_grad",
                                                        "cross_entropy",
                                                        "cross_entropy_grad",
                                                        "layer_norm",
                                                        "layer_norm_grad",
                                                        "batch_norm",
                                                        "batch_norm_grad",
                                                        "conv2d",
                                                        "conv2d_input_grad",
                                                        "conv2d_weight_grad",
                                                        "max_pool2d",
                                                        "max_pool2d_grad",
                                                        "avg_pool2d",
                                                        "avg_pool2d_grad",
                                                        "dropout",
                                                        "attention",
                                                        "attention_grad",
                                                        "recurrent_cell",
                                                        "recurrent_cell_grad",
                                                        "strided_copy",
                                                        "concat",
                                                        "take",
                                                        "take_grad",
                                                        "gather",
                                                        "scatter_add",
                                                        "one_hot",
                                                        "triangle",
                                                        "custom",
                                                        "source",
                                                        "sgd",
                                                        "adam",
                                                        "adagrad",
                                                        "rmsprop"};
// clang-format on

constexpr std::array<const char*, static_cast<std::size_t>(CopyKind::count)> copy_names = {
    "permute", "transpose", "slice", "slice_grad", "flip", "expand", "tile", "pad", "assign"};

template <std::size_t... I>
constexpr std::array<const char*, formulas::count> names_of(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::name...};
}
constexpr auto formula_names = names_of(std::make_index_sequence<formulas::count>());

}  // namespace

const char* formula_name(int formula) { return formula_names[static_cast<std::size_t>(formula)]; }

const char* op_name(Op op, const void* attributes) {
  if (op == Op::elementwise) return formula_names[static_cast<const ElementwiseAttributes*>(attributes)->formula];
  if (op == Op::strided_copy) {
    return copy_names[static_cast<std::size_t>(static_cast<const StridedCopyAttributes*>(attributes)->kind)];
  }
  if (op == Op::custom || op == Op::source) return static_cast<const CustomAttributes*>(attributes)->name;
  if (op == Op::triangle) return static_cast<const TriangleAttributes*>(attributes)->is_upper ? "triu" : "tril";
  const bool is_norm = op == Op::layer_norm || op == Op::layer_norm_grad;
  if (is_norm && attributes != nullptr && static_cast<const NormAttributes*>(attributes)->is_rms) {
    return op == Op::layer_norm ? "rms_norm" : "rms_norm_grad";
  }
  return op_names[static_cast<std::size_t>(op)];
}

void append_operand(std::string& list, Access access, const Shape& shape) {
  if (!list.empty()) list += ", ";
  if (access != Access::read) list += "to ";
  list += shape.str();
}

}  // namespace asyncgrad::detail
