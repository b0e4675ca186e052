#include "asyncgrad/autograd/elementwise/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/elementwise/formula_backward.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/tape/crossed_loss.h"
#include "asyncgrad/autograd/tape/in_place.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

namespace {

template <std::size_t... I>
constexpr std::array<bool, formulas::count> integer_forms(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::integers...};
}
constexpr auto has_integer_form = integer_forms(std::make_index_sequence<formulas::count>());
template <std::size_t... I>
constexpr std::array<bool, formulas::count> boolean_forms(std::index_sequence<I...>) {
  return {std::tuple_element_t<I, formulas::Formulas>::booleans...};
}
constexpr auto has_boolean_form = boolean_forms(std::make_index_sequence<formulas::count>());

// The name of a formula's input in messages.
const char* input_name(int formula, std::size_t input) {
  static constexpr std::array names = {"x", "y", "z"}, names_of_where = {"condition", "x", "y"};
  return (formula == formulas::id<formulas::Where>() ? names_of_where : names)[input];
}

// The tensors among the inputs. Throws as checked_operand() does.
std::vector<NamedOperand> named(const char* operation, int formula, std::span<const Input> inputs) {
  std::vector<NamedOperand> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor == nullptr) continue;
    operands.push_back({input_name(formula, i), checked_operand(*inputs[i].tensor, operation)});
  }
  return operands;
}

// "; y.reshape({2, 1}) is repeated along the last axes", if the leading axes of x are all of y's.
std::string broadcast_hint(std::span<const NamedOperand> operands) {
  for (const NamedOperand& shorter : operands) {
    for (const NamedOperand& longer : operands) {
      const Shape &s = shorter.impl.shape, &l = longer.impl.shape;
      if (s.rank() == 0 || s.rank() >= l.rank() || !std::equal(s.begin(), s.end(), l.begin())) continue;
      Shape repeated = s;
      while (repeated.rank() < l.rank()) repeated.append(1);
      return fmt::format("; {}{} is repeated along the last axes", shorter.name, reshape_str(repeated));
    }
  }
  return std::string(broadcast_rule);
}

[[noreturn]] void throw_no_broadcast(const char* operation, int formula, std::span<const Input> inputs) {
  const std::vector<NamedOperand> operands = named(operation, formula, inputs);
  throw_error(operation, fmt::format("shapes do not broadcast: {}{}", shapes_str(operands), broadcast_hint(operands)));
}

// The shape to which all inputs broadcast. Throws Error if they do not.
Shape broadcast_shape(const char* operation, int formula, std::span<const Input> inputs) {
  Shape shape;
  for (const Input& input : inputs) {
    if (input.tensor == nullptr) continue;
    if (!broadcast_into(shape, input.tensor->shape())) throw_no_broadcast(operation, formula, inputs);
  }
  return shape;
}

// The type, device and layout that the inputs have in common.
struct Common {
  const TensorImpl* first = nullptr;  // the first tensor; the others have its type and device
  bool is_one_shape = true;           // true if all tensors have the same shape
  bool has_bools = false;             // true if some tensors are bool and must take the type of the others
};

// Handles types that differ. Throws Error unless one type is left beside bool.
bool check_bools(const char* operation, int formula, std::span<const Input> inputs) {
  std::vector<NamedOperand> others;
  for (const NamedOperand& operand : named(operation, formula, inputs)) {
    if (operand.impl.dtype != DType::boolean) others.push_back(operand);
  }
  for (const NamedOperand& operand : others) {
    if (operand.impl.dtype != others.front().impl.dtype) check_types(operation, named(operation, formula, inputs));
  }
  check_arithmetic(operation, others.front());
  return true;
}

// Throws Error if the formula has no form for the type of all inputs, which is not a floating type of computation.
void check_form(const char* operation, int formula, const TensorImpl& first, std::span<const Input> inputs) {
  const auto f = static_cast<std::size_t>(formula);
  if (first.dtype == DType::int64 ? has_integer_form[f] : first.dtype == DType::boolean && has_boolean_form[f]) return;
  const NamedOperand operand = named(operation, formula, inputs).front();
  if (has_integer_form[f]) check_arithmetic(operation, operand);
  check_floating(operation, operand);
}

// Every elementwise operation runs this, so the loop is unrolled and names are made for messages only.
inline Common checked(const char* operation, int formula, std::span<const Input> inputs) {
  Common common;
#pragma GCC unroll 3
  for (const Input& input : inputs) {
    if (input.tensor == nullptr) continue;
    const TensorImpl& impl = checked_operand(*input.tensor, operation);
    if (common.first == nullptr) {
      common.first = &impl;
      continue;
    }
    if (impl.device != common.first->device) check_devices(operation, named(operation, formula, inputs));
    if (impl.dtype != common.first->dtype) common.has_bools = check_bools(operation, formula, inputs);
    common.is_one_shape = common.is_one_shape && impl.shape == common.first->shape;
  }
  if (!common.has_bools && common.first->dtype > DType::float64) check_form(operation, formula, *common.first, inputs);
  return common;
}

inline void submit_formula(int formula, OperandRef out, std::span<const Input> inputs, const Location& where) {
  ElementwiseAttributes attributes{.formula = static_cast<std::uint8_t>(formula)};
  std::array<OperandRef, 1 + max_inputs> operands;
  operands[0] = out;
  std::size_t count = 1;
#pragma GCC unroll 3
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor != nullptr) {
      operands[count++] = reads(*inputs[i].tensor);
    } else {
      attributes.scalar_mask |= static_cast<std::uint8_t>(1U << i);
      attributes.scalars[i] = inputs[i].number;
    }
  }
  submit(Op::elementwise, std::span(operands).first(count), attributes, where);
}

bool is_difference(int formula) {
  return formula == formulas::id<formulas::Subtract>() || formula == formulas::id<formulas::HalfSquaredError>() ||
         formula == formulas::id<formulas::AbsoluteError>() || formula == formulas::id<formulas::LogisticLoss>() ||
         formula == formulas::id<formulas::Divergence>();
}

bool is_recorded(int formula, std::span<const Input> inputs) {
  if (!grad_enabled()) return false;
  for (const Input& input : inputs) {
    if (input.tensor != nullptr && has_history(*input.tensor)) return is_differentiable(formula);
  }
  return false;
}

Tensor tensor_at(std::span<const Input> inputs, std::size_t i) {
  return i < inputs.size() && inputs[i].tensor != nullptr ? *inputs[i].tensor : Tensor();
}

void record_formula(int formula, std::span<const Input> inputs, const Tensor& out, const Location& where) {
  const auto record_by = [&](auto backward) {
    record(Recorded(Op::elementwise).as(formula_name(formula)), where, out,
           {tensor_at(inputs, 0), tensor_at(inputs, 1), tensor_at(inputs, 2)}, differentiable(std::move(backward)));
  };
  FormulaBackward backward(formula, inputs, out, FormulaBackward::needed(formula, inputs));
  if (is_difference(formula) && inputs[0].tensor != nullptr && inputs[1].tensor != nullptr &&
      crosses_in_loss(*inputs[0].tensor, *inputs[1].tensor)) {
    const CrossedShapes shapes{inputs[0].tensor->shape(), inputs[1].tensor->shape()};
    return record_by(CrossedBackward(backward, shapes));
  }
  record_by(std::move(backward));
}

// The inputs, of which those of bool are converted to the type of the others.
class WithoutBools {
 public:
  WithoutBools(std::span<const Input> inputs, const Location& where) : count_(inputs.size()) {
    DType dtype = DType::boolean;
    for (const Input& input : inputs) {
      if (input.tensor != nullptr && input.tensor->dtype() != DType::boolean) dtype = input.tensor->dtype();
    }
    for (std::size_t i = 0; i < count_; ++i) {
      inputs_[i] = inputs[i];
      if (inputs[i].tensor == nullptr) continue;
      converted_[i] = inputs[i].tensor->to(dtype, where);
      inputs_[i].tensor = &converted_[i];
    }
  }
  WithoutBools(const WithoutBools&) = delete;
  WithoutBools& operator=(const WithoutBools&) = delete;
  std::span<const Input> inputs() const { return std::span(inputs_).first(count_); }

 private:
  std::size_t count_;
  std::array<Input, max_inputs> inputs_;
  std::array<Tensor, max_inputs> converted_;
};

enum class Result : std::uint8_t { same_type, boolean };

// The result has no history. It is written over `dying`, unless that is null, where over() allows it and it fits.
template <Result result, std::size_t count>
Tensor computed(int formula, std::span<const Input, count> inputs, const Location& where, const Tensor* dying) {
  const char* const operation = formula_name(formula);
  const auto [first, is_one_shape, has_bools] = checked(operation, formula, inputs);
  if (has_bools) {
    if (!is_one_shape) broadcast_shape(operation, formula, inputs);  // throws before anything is queued
    return computed<result>(formula, WithoutBools(inputs, where).inputs().template first<count>(), where, dying);
  }
  const DType dtype = result == Result::boolean ? DType::boolean : first->dtype;
  if (dying != nullptr && dying->dtype() == dtype &&
      (is_one_shape || dying->shape() == broadcast_shape(operation, formula, inputs))) {
    const Destination out = over(*dying);
    submit_formula(formula, out.operand(), inputs, where);
    return out.tensor;
  }
  Tensor out = is_one_shape ? make_tensor(first->shape, dtype, first->device)
                            : make_tensor(broadcast_shape(operation, formula, inputs), dtype, first->device);
  submit_formula(formula, writes(out), inputs, where);
  return out;
}

// An input of bool is saved for the gradient as it is: it is smaller than the number that it is converted to.
template <Result result, std::size_t count>
Tensor apply_to(int formula, std::span<const Input, count> inputs, const Location& where, const Tensor* dying) {
  Tensor out = computed<result>(formula, inputs, where, dying);
  if (result == Result::same_type && is_recorded(formula, inputs)) record_formula(formula, inputs, out, where);
  return out;
}

// A constant number of inputs lets the compiler unroll the loops over them.
template <Result result>
Tensor apply_to(int formula, std::span<const Input> inputs, const Location& where, const Tensor* dying = nullptr) {
  if (inputs.size() == 1) return apply_to<result>(formula, inputs.first<1>(), where, dying);
  if (inputs.size() == 2) return apply_to<result>(formula, inputs.first<2>(), where, dying);
  return apply_to<result>(formula, inputs.first<max_inputs>(), where, dying);
}

}  // namespace

Tensor apply(int formula, std::span<const Input> inputs, const Location& where) {
  return apply_to<Result::same_type>(formula, inputs, where);
}
Tensor apply_predicate(int formula, std::span<const Input> inputs, const Location& where) {
  return apply_to<Result::boolean>(formula, inputs, where);
}

Tensor apply_gradient(int formula, std::span<const Input> inputs, bool is_recorded, const Tensor* dying) {
  if (is_recorded && !is_differentiable(formula)) return apply_stepwise(formula, inputs);
  return apply_to<Result::same_type>(formula, inputs, Location(), is_recorded ? nullptr : dying);
}

void apply_in_place(const char* operation, int formula, const Tensor& target, const Input& other, Location where) {
  const std::array<Input, 2> inputs = {target, other};
  const auto [first, is_one_shape, has_bools] = checked(operation, formula, inputs);
  if (!is_one_shape && broadcast_shape(operation, formula, inputs) != first->shape) {
    throw_no_broadcast(operation, formula, inputs);
  }
  if (has_bools) {
    if (first->dtype == DType::boolean) check_types(operation, named(operation, formula, inputs));
    return apply_in_place(operation, formula, target, other.tensor->to(first->dtype, where), where);
  }
  const Tensor source = tensor_at(inputs, 1);
  check_writable(operation, target, source);

  const bool recorded = is_recorded(formula, inputs);
  const unsigned needed = recorded ? FormulaBackward::needed(formula, inputs) : 0;
  const bool is_self = source.defined() && source.impl() == target.impl();
  // The gradient of a product needs the factor that is overwritten here.
  const bool keeps_old =
      FormulaBackward::needs(needed, From::x) || (is_self && FormulaBackward::needs(needed, From::y));
  const Tensor old = keeps_old ? target.detach().clone(where) : target;
  const Tensor read = source.defined() ? without_overlap(target, source, where) : Tensor();
  const std::array<Input, 2> operands = {target, read.defined() ? Input(read) : other};
  submit_formula(formula, updates(target), operands, where);
  if (!recorded) return;
  note_history(target);
  const std::array<Input, 2> saved = {old, is_self ? Input(old) : operands[1]};
  record(Recorded(Op::elementwise).as(operation), where, target, {target, source},
         differentiable(FormulaBackward(formula, saved, target, needed)));
}

}  // namespace asyncgrad::detail
