#include "asyncgrad/autograd/matmul.h"

#include <fmt/format.h>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/core/engine/submit.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

struct Extents {
  std::int64_t rows, inner, columns;
};

// The extents of x w, with both read as `options` say. Throws Error, in which they have their names, if they do not
// fit.
Extents checked_extents(const char* operation, NamedOperand x, NamedOperand w, MatmulOptions options) {
  const Shape &xs = x.impl.shape, &ws = w.impl.shape;
  const NamedOperand operands[] = {x, w};
  if (xs.rank() != 2 || ws.rank() != 2) {
    throw_error(operation, fmt::format("both operands need two axes: {}", shapes_str(operands)));
  }
  const int x_inner = options.transpose_x ? 0 : 1, w_inner = options.transpose_w ? 1 : 0;
  if (xs[x_inner] != ws[w_inner]) {
    throw_error(operation, fmt::format("inner dimensions differ: {} {}{}, {} {}{}", x.name, xs.str(),
                                       options.transpose_x ? " transposed" : "", w.name, ws.str(),
                                       options.transpose_w ? " transposed" : ""));
  }
  return {xs[1 - x_inner], xs[x_inner], ws[1 - w_inner]};
}

// For y = x w the gradients are dx = dy w^T and dw = x^T dy; they are transposed if x or w was read transposed.
Tensor matmul_grad_x(const Tensor& dy, const Tensor& w, MatmulOptions options) {
  return options.transpose_x ? matmul(w, dy, {.transpose_x = options.transpose_w, .transpose_w = true})
                             : matmul(dy, w, {.transpose_w = !options.transpose_w});
}
Tensor matmul_grad_w(const Tensor& dy, const Tensor& x, MatmulOptions options) {
  return options.transpose_w ? matmul(dy, x, {.transpose_x = true, .transpose_w = options.transpose_x})
                             : matmul(x, dy, {.transpose_x = !options.transpose_x});
}

void check_dense(const Arg& x, const Arg& weight, const Tensor& bias) {
  const NamedOperand input{"x", checked_operand(x, "dense")}, w{"weight", checked_operand(weight, "dense")};
  check_alike("dense", {input, w});
  check_floating("dense", input);
  const std::int64_t columns = checked_extents("dense", input, w, {}).columns;
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

  void operator()(Tensor dy, Gradients& gradients) const {
    Tensor dbias;
    const Tensor dz = activation_ == ActivationKind::relu ? through_relu(dy, dbias, gradients) : dy;
    if (gradients.wants(2) && !dbias.defined()) dbias = sum(dz, 0);
    dy = Tensor();  // frees its memory before the products, unless dz is the same
    gradients(0, [&] { return matmul_grad_x(dz, gradients.read(w_), {}); });
    gradients(1, [&] { return matmul_grad_w(dz, gradients.read(x_), {}); });
    gradients(2, [&] { return std::move(dbias); });
  }

 private:
  Tensor through_relu(const Tensor& dy, Tensor& dbias, const Gradients& gradients) const {
    const Tensor& y = gradients.read(y_);
    const bool has_bias = gradients.wants(2);
    const DenseAttributes attributes{ActivationKind::relu, has_bias};
    Tensor dz = make_tensor(dy.shape(), dy.dtype(), dy.device());
    if (has_bias) {
      dbias = make_tensor(bias_, dy.dtype(), dy.device());
      submit(Op::dense_grad, {writes(dz), writes(dbias), reads(y), reads(dy)}, attributes, Location());
    } else {
      submit(Op::dense_grad, {writes(dz), reads(y), reads(dy)}, attributes, Location());
    }
    return dz;
  }

  SavedTensor x_, w_, y_;
  ActivationKind activation_;
  Shape bias_;
};

Tensor fused_dense(const Arg& x, const Arg& weight, const Tensor& bias, ActivationKind activation) {
  check_dense(x, weight, bias);
  Tensor y = make_tensor({x->size(0), weight->size(1)}, x->dtype(), x->device());
  const DenseAttributes attributes{activation, bias.defined(), math_mode()};
  if (bias.defined()) {
    submit(Op::dense, {writes(y), reads(x), reads(weight), reads(bias)}, attributes, x.where());
  } else {
    submit(Op::dense, {writes(y), reads(x), reads(weight)}, attributes, x.where());
  }
  if (records(x, weight, bias)) {
    record("dense", x.where(), y, {x, weight, bias}, DenseBackward(x, weight, bias, y, activation));
  }
  return y;
}

}  // namespace

Tensor matmul(const Arg& x, const Arg& w, MatmulOptions options) {
  const NamedOperand a{"x", checked_operand(x, "matmul")}, b{"w", checked_operand(w, "matmul")};
  check_alike("matmul", {a, b});
  check_floating("matmul", a);
  const Extents extents = checked_extents("matmul", a, b, options);
  Tensor y = make_tensor({extents.rows, extents.columns}, a.impl.dtype, a.impl.device);
  const MatmulAttributes attributes{options.transpose_x, options.transpose_w, math_mode()};
  submit(Op::matmul, {writes(y), reads(x), reads(w)}, attributes, x.where());
  if (!records(x, w)) return y;
  record("matmul", x.where(), y, {x, w},
         [options, x = save(x, has_history(w)), w = save(w, has_history(x))](const Tensor& dy, Gradients& gradients) {
           gradients(0, [&] { return matmul_grad_x(dy, gradients.read(w), options); });
           gradients(1, [&] { return matmul_grad_w(dy, gradients.read(x), options); });
         });
  return y;
}

Tensor dense(const Arg& x, const Arg& weight, const Tensor& bias, Activation activation) {
  if (activation == nullptr) return fused_dense(x, weight, bias, ActivationKind::none);
  if (activation == &relu) return fused_dense(x, weight, bias, ActivationKind::relu);
  const Tensor z = fused_dense(x, weight, bias, ActivationKind::none);
  return activation(Arg(z, x.where().file, x.where().line));
}

}  // namespace asyncgrad
