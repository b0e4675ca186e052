#include "asyncgrad/core/backend/operations.h"

#include <utility>

#include "asyncgrad/core/backend/attributes/collective.h"
#include "asyncgrad/core/backend/attributes/custom.h"
#include "asyncgrad/core/backend/attributes/elementwise.h"
#include "asyncgrad/core/backend/attributes/movement.h"
#include "asyncgrad/core/backend/attributes/reductions.h"
#include "asyncgrad/core/backend/attributes/update.h"
#include "asyncgrad/core/backend/attributes/windows.h"
#include "asyncgrad/core/backend/formulas.h"

namespace asyncgrad::detail {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(CopyKind::count)> copy_names = {
    "permute", "transpose", "slice", "slice_grad", "flip", "expand", "tile", "pad", "assign"};

template <std::size_t... I>
constexpr std::array<const char*, formulas::count> names_of(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::name...};
}
constexpr auto formula_names = names_of(std::make_index_sequence<formulas::count>());

}  // namespace

const char* formula_name(int formula) { return formula_names[static_cast<std::size_t>(formula)]; }

namespace {

template <class Attributes>
const Attributes& as(const void* attributes) {
  return *static_cast<const Attributes*>(attributes);
}

const char* name_of_conv(Op op, const ConvAttributes& attributes) {
  if (attributes.is_transposed) {
    constexpr const char* names[][3] = {
        {"conv_transpose2d", "conv_transpose2d_input_grad", "conv_transpose2d_weight_grad"},
        {"conv_transpose1d", "conv_transpose1d_input_grad", "conv_transpose1d_weight_grad"}};
    return names[attributes.is_one_dimensional ? 1 : 0][op == Op::conv_input ? 0 : op == Op::conv ? 1 : 2];
  }
  if (!attributes.is_one_dimensional) return row_of(op).name;
  return op == Op::conv ? "conv1d" : op == Op::conv_input ? "conv1d_input_grad" : "conv1d_weight_grad";
}
const char* name_of_norm(Op op, const NormAttributes& attributes) {
  if (!attributes.is_rms) return row_of(op).name;
  return op == Op::layer_norm ? "rms_norm" : "rms_norm_grad";
}

}  // namespace

const char* op_name(Op op, const void* attributes) {
  if (attributes == nullptr) return row_of(op).name;
  switch (op) {
    case Op::elementwise:
      return formula_name(as<ElementwiseAttributes>(attributes).formula);
    case Op::strided_copy:
      return copy_names[static_cast<std::size_t>(as<StridedCopyAttributes>(attributes).kind)];
    case Op::custom:
    case Op::source:
      return as<CustomAttributes>(attributes).name;
    case Op::collective:
      return as<CollectiveAttributes>(attributes).name;
    case Op::triangle:
      return as<TriangleAttributes>(attributes).is_upper ? "triu" : "tril";
    case Op::layer_norm:
    case Op::layer_norm_grad:
      return name_of_norm(op, as<NormAttributes>(attributes));
    case Op::conv:
    case Op::conv_input:
    case Op::conv_weight:
      return name_of_conv(op, as<ConvAttributes>(attributes));
    case Op::update:
    case Op::update_rows:
      return rule_of(as<UpdateAttributes>(attributes)).name;
    default:
      return row_of(op).name;
  }
}

void append_operand(std::string& list, Access access, const Shape& shape) {
  if (!list.empty()) list += ", ";
  if (access != Access::read) list += "to ";
  list += shape.str();
}

}  // namespace asyncgrad::detail
