#include "asyncgrad/core/backend/kernels.h"

#include <utility>

namespace asyncgrad::detail {

namespace {

// In the order of Op; elementwise operations are named by their formula.
constexpr std::array<const char*, op_count> op_names = {"fill",
                                                        "arange",
                                                        "uniform",
                                                        "normal",
                                                        "copy",
                                                        "elementwise",
                                                        "matmul",
                                                        "dense",
                                                        "dense_grad",
                                                        "sum",
                                                        "max",
                                                        "max_grad",
                                                        "argmax",
                                                        "softmax",
                                                        "softmax_grad",
                                                        "log_softmax",
                                                        "log_softmax_grad",
                                                        "cross_entropy",
                                                        "cross_entropy_grad",
                                                        "transpose",
                                                        "take",
                                                        "take_grad",
                                                        "sgd",
                                                        "adam",
                                                        "adagrad",
                                                        "rmsprop"};

template <std::size_t... I>
constexpr std::array<const char*, formulas::count> names_of(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::name...};
}
constexpr auto formula_names = names_of(std::make_index_sequence<formulas::count>());

}  // namespace

const char* formula_name(int formula) { return formula_names[static_cast<std::size_t>(formula)]; }

const char* op_name(Op op, const void* attributes) {
  if (op == Op::elementwise) return formula_names[static_cast<const ElementwiseAttributes*>(attributes)->formula];
  return op_names[static_cast<std::size_t>(op)];
}

void append_operand(std::string& list, Access access, const Shape& shape) {
  if (!list.empty()) list += ", ";
  if (access != Access::read) list += "to ";
  list += shape.str();
}

}  // namespace asyncgrad::detail
