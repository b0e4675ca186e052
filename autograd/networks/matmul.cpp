#include "asyncgrad/autograd/matmul.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/elementwise/apply.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad {

using namespace detail;

namespace {

// "x (2, 3) transposed".
std::string operand_str(NamedOperand operand, bool transposed) {
  return fmt::format("{} {}{}", operand.name, operand.impl.shape.str(), transposed ? " transposed" : "");
}

// "; they fit with w transposed", if its axis of extent `outer` fits the `inner` one of the other operand.
std::string fit_of_transposed(const char* w, std::int64_t inner, std::int64_t outer, bool is_transposed) {
  return inner == outer ? fmt::format("; they fit with {} {}transposed", w, is_transposed ? "not " : "") : "";
}

Shape with_matrices(Shape leading, std::int64_t rows, std::int64_t columns) {
  leading.append(rows);
  leading.append(columns);
  return leading;
}

// The shape of x w, with both read as `options` say. Throws Error, in which they have their names, if they do not fit.
Shape product_shape(const char* operation, NamedOperand x, NamedOperand w, MatmulOptions options) {
  const Shape &xs = x.impl.shape, &ws = w.impl.shape;
  const NamedOperand operands[] = {x, w};
  if (xs.rank() < 2 || ws.rank() < 2) {
    throw_error(operation, fmt::format("both operands need two axes: {}", shapes_str(operands)));
  }
  const int x_inner = options.transpose_x ? -2 : -1, w_inner = options.transpose_w ? -1 : -2;
  if (xs[x_inner] != ws[w_inner]) {
    const std::int64_t w_other = ws[options.transpose_w ? -2 : -1];
    throw_error(operation, fmt::format("inner dimensions differ: {}, {}{}", operand_str(x, options.transpose_x),
                                       operand_str(w, options.transpose_w),
                                       fit_of_transposed(w.name, xs[x_inner], w_other, options.transpose_w)));
  }
  Shape leading = leading_axes(xs);
  if (!broadcast_into(leading, leading_axes(ws))) {
    throw_error(operation, fmt::format("leading axes do not broadcast: {}{}", shapes_str(operands), broadcast_rule));
  }
  return with_matrices(leading, xs[options.transpose_x ? -1 : -2], ws[options.transpose_w ? -2 : -1]);
}

// True if x w is one product of all rows of x with the only matrix in w.
bool is_one_product(const Shape& x, const Shape& w, bool transpose_x) {
  return !transpose_x && w.rank() == 2 && x.rank() > 2;
}
// All rows as one matrix.
Shape rows_of(const Shape& shape) { return {shape.numel(0, shape.rank() - 1), shape[-1]}; }

// x w, whose shape is known. The result has no history. The CPU multiplies bfloat16 in float32, by the fastest way that
// keeps its bits.
Tensor product(const Tensor& x, const Tensor& w, const Shape& shape, MatmulOptions options, Location where,
               MathMode math = math_mode()) {
  if (x.dtype() == bfloat16 && x.device().type == DeviceType::cpu) {
    const NoGrad no_grad;
    return product(x.to(float32, where), w.to(float32, where), shape, options, where, MathMode::bf16)
        .to(bfloat16, where);
  }
  const MatmulAttributes attributes{options.transpose_x, options.transpose_w, math};
  Tensor y = make_like(x, shape);
  if (is_one_product(x.shape(), w.shape(), options.transpose_x)) {
    const Tensor rows = make_view(x, rows_of(x.shape())), result = make_view(y, rows_of(shape));
    submit(Op::matmul, {writes(result), reads(rows), reads(w)}, attributes, where);
  } else {
    submit(Op::matmul, {writes(y), reads(x), reads(w)}, attributes, where);
  }
  return y;
}

Tensor recorded_product(const Tensor& x, const Tensor& w, const Shape& shape, MatmulOptions options, Location where);

// x w, added up over the axes that `shape` lacks. Recorded.
Tensor product_to(const Shape& shape, const Tensor& x, const Tensor& w, MatmulOptions options) {
  Shape leading = leading_axes(x.shape());
  broadcast_into(leading, leading_axes(w.shape()));
  return sum_to(recorded_product(x, w, with_matrices(leading, shape[-2], shape[-1]), options, Location()), shape);
}

// For y = x w the gradients are dx = dy w^T and dw = x^T dy; they are transposed if x or w was read transposed.
Tensor matmul_grad_x(const Tensor& dy, const Tensor& w, const Shape& shape, MatmulOptions options) {
  return options.transpose_x ? product_to(shape, w, dy, {.transpose_x = options.transpose_w, .transpose_w = true})
                             : product_to(shape, dy, w, {.transpose_w = !options.transpose_w});
}
Tensor matmul_grad_w(const Tensor& dy, const Tensor& x, const Shape& shape, MatmulOptions options) {
  // The sum over all rows is that inside of one product.
  const bool is_one = is_one_product(x.shape(), shape, options.transpose_x);
  const Tensor rows = is_one ? with_shape(x, rows_of(x.shape())) : x;
  const Tensor dz = is_one ? with_shape(dy, rows_of(dy.shape())) : dy;
  return options.transpose_w ? product_to(shape, dz, rows, {.transpose_x = true, .transpose_w = options.transpose_x})
                             : product_to(shape, rows, dz, {.transpose_x = !options.transpose_x});
}

Tensor recorded_product(const Tensor& x, const Tensor& w, const Shape& shape, MatmulOptions options, Location where) {
  Tensor y = product(x, w, shape, options, where);
  if (!records(x, w)) return y;
  record(Op::matmul, where, y, {x, w},
         differentiable([options, x = save(x, has_history(w)), w = save(w, has_history(x))](const Tensor& dy,
                                                                                            Gradients& gradients) {
           gradients(0, [&] { return matmul_grad_x(dy, gradients.read_input(w, 1), gradients.shape(0), options); });
           gradients(1, [&] { return matmul_grad_w(dy, gradients.read_input(x, 0), gradients.shape(1), options); });
         }));
  return y;
}

// matmul of operands with two axes and more.
Tensor matrix_product(const Arg& x, const Arg& w, MatmulOptions options) {
  const NamedOperand a{"x", checked_operand(x, "matmul")}, b{"w", checked_operand(w, "matmul")};
  return recorded_product(x, w, product_shape("matmul", a, b, options), options, x.where());
}

// matmul where an operand has one axis.
Tensor vector_product(const Arg& x, const Arg& w, MatmulOptions options) {
  const NamedOperand a{"x", *x->impl()}, b{"w", *w->impl()};
  const NamedOperand operands[] = {a, b};
  const bool is_row = x->rank() == 1, is_column = w->rank() == 1;
  if (x->rank() == 0 || w->rank() == 0) {
    throw_error("matmul", fmt::format("both operands need an axis: {}", shapes_str(operands)));
  }
  if ((is_row && options.transpose_x) || (is_column && options.transpose_w)) {
    throw_error("matmul", fmt::format("an operand with one axis cannot be transposed: {}, {}",
                                      operand_str(a, options.transpose_x), operand_str(b, options.transpose_w)));
  }
  if (x->size(-1 - (options.transpose_x ? 1 : 0)) != w->size(is_column || options.transpose_w ? -1 : -2)) {
    throw_error("matmul", fmt::format("inner dimensions differ: {}, {}", operand_str(a, options.transpose_x),
                                      operand_str(b, options.transpose_w)));
  }
  const Location where = x.where();
  const Tensor row = is_row ? x->reshape({1, x->size(0)}, where) : x.tensor();
  const Tensor column = is_column ? w->reshape({w->size(0), 1}, where) : w.tensor();
  const Tensor y = matrix_product(Arg(row, where), column, options);
  Shape shape = leading_axes(y.shape());
  if (!is_row) shape.append(y.size(-2));
  if (!is_column) shape.append(y.size(-1));
  return y.reshape(shape, where);
}

void check_dense(const Arg& x, const Arg& weight, const Tensor& bias) {
  const NamedOperand input{"x", checked_operand(x, "dense")}, w{"weight", checked_operand(weight, "dense")};
  check_alike("dense", {input, w});
  check_dtype(Op::dense, "dense", input);
  if (input.impl.shape.rank() > 2 || w.impl.shape.rank() > 2) {
    const NamedOperand operands[] = {input, w};
    throw_error("dense", fmt::format("both operands need two axes: {}", shapes_str(operands)));
  }
  const std::int64_t columns = product_shape("dense", input, w, {})[-1];
  if (!bias.defined()) return;
  const NamedOperand b{"bias", checked_operand(bias, "dense")};
  check_alike("dense", {input, w, b});
  if (b.impl.shape != Shape{columns}) {
    const NamedOperand operands[] = {w, b};
    throw_error("dense", fmt::format("the bias needs one element for each column: {}", shapes_str(operands)));
  }
}

// The backward function of activation(x w + b). It needs x, w and, with relu, the result.
class DenseBackward {
 public:
  DenseBackward(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& y, ActivationKind activation)
      : x_(save(x, has_history(w))),
        w_(save(w, has_history(x))),
        y_(save(y, activation == ActivationKind::relu)),
        activation_(activation),
        bias_(b.defined() ? b.shape() : Shape()) {}

  void operator()(Tensor dy, Gradients& gradients) {
    Tensor dbias;
    const Tensor dz = activation_ == ActivationKind::relu ? through_relu(dy, dbias, gradients) : dy;
    if (gradients.wants(2) && !dbias.defined()) dbias = sum(dz, 0);
    dy = Tensor();  // frees its memory before the products, unless dz is the same
    gradients(0, [&] { return matmul_grad_x(dz, gradients.read_input(w_, 1), gradients.shape(0), {}); });
    gradients(1, [&] { return matmul_grad_w(dz, gradients.read_input(x_, 0), gradients.shape(1), {}); });
    gradients(2, [&] { return std::move(dbias); });
  }

 private:
  // y is not kept until the products, which need memory.
  Tensor through_relu(const Tensor& dy, Tensor& dbias, const Gradients& gradients) {
    const Tensor y = gradients.take_result(y_);
    if (gradients.are_recorded()) {
      const std::array<Input, 2> inputs = {y, dy};
      return apply(formulas::id<formulas::ReluGrad>(), inputs, Location());
    }
    const Destination dz = over(dy);
    if (gradients.wants(2)) dbias = make_like(dy, bias_);
    OperandList operands;
    operands.add(dz.operand());
    operands.add_writes(dbias);
    operands.add(reads(y));
    operands.add(reads(dy));
    submit(Op::dense_grad, operands, DenseAttributes{ActivationKind::relu, dbias.defined()}, Location());
    return dz.tensor;
  }

  SavedTensor x_, w_, y_;
  ActivationKind activation_;
  Shape bias_;
};

Tensor fused_dense(const Arg& x, const Arg& weight, const Tensor& bias, ActivationKind activation) {
  check_dense(x, weight, bias);
  Tensor y = make_like(x, {x->size(0), weight->size(1)});
  OperandList operands;
  operands.add(writes(y));
  operands.add(reads(x));
  operands.add(reads(weight));
  operands.add_reads(bias);
  submit(Op::dense, operands, DenseAttributes{activation, bias.defined(), math_mode()}, x.where());
  if (records(x, weight, bias)) {
    record(Op::dense, x.where(), y, {x, weight, bias}, differentiable(DenseBackward(x, weight, bias, y, activation)));
  }
  return y;
}

Tensor dense_of_rows(const Arg& x, const Arg& weight, const Tensor& bias, Activation activation) {
  if (activation == nullptr) return fused_dense(x, weight, bias, ActivationKind::none);
  if (activation == &relu) return fused_dense(x, weight, bias, ActivationKind::relu);
  const Tensor z = fused_dense(x, weight, bias, ActivationKind::none);
  return activation(Arg(z, x.where()));
}

}  // namespace

Tensor matmul(const Arg& x, const Arg& w, MatmulOptions options) {
  const NamedOperand a{"x", checked_operand(x, "matmul")}, b{"w", checked_operand(w, "matmul")};
  check_alike("matmul", {a, b});
  check_dtype(Op::matmul, "matmul", a);
  const bool are_matrices = a.impl.shape.rank() > 1 && b.impl.shape.rank() > 1;
  return are_matrices ? matrix_product(x, w, options) : vector_product(x, w, options);
}

Tensor dense(const Arg& x, const Arg& weight, const Tensor& bias, Activation activation) {
  const Shape &shape = checked_operand(x, "dense").shape, &matrix = checked_operand(weight, "dense").shape;
  if (shape.rank() == 2 || shape.rank() == 0 || matrix.rank() != 2 || shape[-1] != matrix[0]) {
    return dense_of_rows(x, weight, bias, activation);
  }
  const Location& where = x.where();
  const Tensor rows = x->reshape({shape.numel(0, shape.rank() - 1), matrix[0]}, where);
  return dense_of_rows(Arg(rows, where), weight, bias, activation).reshape(shape.with(-1, matrix[1]), where);
}

}  // namespace asyncgrad
