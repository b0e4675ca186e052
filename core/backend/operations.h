// The table of operations: what the engine, autograd and every backend know of them. Internal.
//
// To add an operation: its place in Op, with its operands and attributes, and its row in the same place of
// `operations`. Nothing compiles without that row, or without the operation's row in the table of each backend
// (backend.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "asyncgrad/core/backend/view.h"
#include "asyncgrad/core/dtype.h"
#include "asyncgrad/core/shape.h"

namespace asyncgrad::detail {

// Outputs come first, then inputs.
enum class Op : std::uint8_t {
  fill,                // out                   FillAttributes
  arange,              // out                   ArangeAttributes
  uniform,             // out                   RandomAttributes
  normal,              // out                   RandomAttributes
  randint,             // out (int64)           RandintAttributes
  permutation,         // out (int64)           RandintAttributes
  copy,                // out, in               none; converts between types; equal numbers of elements
  elementwise,         // out, inputs…          ElementwiseAttributes; inputs broadcast to out's shape
  matmul,              // out, x, w             MatmulAttributes: leading axes of x and w are broadcast to out's
  dense,               // out, x, w[, bias]     DenseAttributes: activation(x w + bias): (N, I) (I, O) (O) -> (N, O)
  dense_grad,          // dz[, dbias], y, dy    DenseAttributes: dz = activation'(y) dy, dbias = sum of dz's rows
  sum,                 // out, in               ReduceAttributes: out = scale * sum, perhaps of squares; booleans count
  sum_parts,           // parts, in             ReduceAttributes: the sums of blocks of few long lines, see there
  sum_of_parts,        // out, parts            ReduceAttributes: out = scale * sum, added in order
  prod,                // out, in               ReduceAttributes
  prod_parts,          // parts, in             ReduceAttributes: the products of blocks, as sum_parts
  prod_of_parts,       // out, parts            ReduceAttributes: their product, in order
  prod_grad,           // dx, x, dy             ReduceAttributes: dy times the product of the other elements
  max,                 // out, in               ReduceAttributes
  min,                 // out, in               ReduceAttributes
  any,                 // out (bool), in (bool) ReduceAttributes
  all,                 // out (bool), in (bool) ReduceAttributes
  max_grad,            // dx, x, y, dy          ReduceAttributes: dy shared evenly by what equals y; of min, too
  argmax,              // out (int64), in       ReduceAttributes: the first of equals; NaN counts as the largest
  argmin,              // out (int64), in       ReduceAttributes: the first of equals; NaN counts as the smallest
  argsort,             // out (int64), in       SortAttributes: the first of equals first; NaN counts as the largest
  cumsum,              // out, in               CumsumAttributes
  softmax,             // out, in               ReduceAttributes
  softmax_grad,        // dx, y, dy             ReduceAttributes
  log_softmax,         // out, in               ReduceAttributes
  log_softmax_grad,    // dx, y, dy             ReduceAttributes
  cross_entropy,       // out (N), logits (N, C), labels (N) int64       none: -log softmax(logits)[label]
  cross_entropy_grad,  // dlogits (N, C), logits, labels, dy (N)      none
  ctc,                 // out (N), x (T, N, C), targets (N, S), input lengths (N), target lengths (N)   CtcAttributes
  ctc_grad,            // dx, the inputs of ctc, dy (N)   CtcAttributes
  layer_norm,          // out, statistics (2, R), x[, weight][, bias]   NormAttributes
  layer_norm_grad,     // dx[, dweight (tiles, W)][, dbias (tiles, W)], x, statistics, dy[, weight]   NormAttributes
  group_norm,          // out, statistics (2, R), x[, weight (C)][, bias (C)]   GroupNormAttributes
  group_norm_grad,     // dx[, dweight (N, C)][, dbias (N, C)], x, statistics, dy[, weight]   GroupNormAttributes
  batch_norm,          // out, statistics (3, C), x[, weight][, bias]   BatchNormAttributes
  batch_norm_grad,     // dx[, dweight][, dbias], x, statistics, dy[, weight]   BatchNormAttributes
  conv,                // out (N, O, P, Q), x (N, C, H, W), w (O, C / groups, h, w)[, bias (O)]   ConvAttributes
  conv_input,          // dx, dy, w[, bias (C)] ConvAttributes
  conv_weight,         // dw (parts groups, C / groups, h, w, O / groups), x, dy   ConvAttributes
  max_pool,            // out, indices (int64, or no elements), x   PoolAttributes: indices in the plane (H, W)
  max_pool_grad,       // dx, indices, dy       PoolAttributes
  avg_pool,            // out, x                PoolAttributes
  avg_pool_grad,       // dx, dy                PoolAttributes
  dropout,             // out, in               DropoutAttributes
  attention,           // out, sums, q, k, v[, mask]   AttentionAttributes: sums are log(sum(e^scores)) of each row
  attention_grad,      // dq, dk, dv, q, k, v, out, sums, dout[, mask]   AttentionAttributes
  recurrent_cell,      // h[, c][, gates], x, z, h before[, c before][, lengths]   RecurrentAttributes
  // dx[, dz], dh carried[, dc carried] (both update), dy, dh, gates or h[, c, c before | h before][, lengths]
  recurrent_cell_grad,  // RecurrentAttributes
  // y (T, N, H), for an LSTM (T + 1, N, H) with the last c[, c (T, N, H)][, gates (T, N, 4 H)], x (T, N, G H),
  // weight (H, G H)[, bias], h before[, c before][, lengths]
  recurrent,  // RecurrentAttributes: all steps; a backend may have no kernel for it, as it is made of others
  // dx (T, N, G H)[, dz], dh[, dc], dy, weight (G H, H)[, gates][, y][, c, c before | h before][, lengths]
  recurrent_grad,  // RecurrentAttributes
  strided_copy,    // out, in               StridedCopyAttributes
  concat,          // out, inputs…          ConcatAttributes
  take,            // out, in, indices      IndexAttributes: out[o, k, i] = in[o, indices[k], i]
  take_grad,       // dx (update), indices, dy   IndexAttributes: dx[o, indices[k], i] += dy[o, k, i], by rising k
  gather,          // out, in, indices      IndexAttributes: out[o, k, i] = in[o, indices[o, k, i], i]
  scatter_add,     // out (update), indices, in  IndexAttributes: out[o, indices[o, k, i], i] += in[o, k, i], by k
  put,             // out (update), indices (n), in (n)   none: out[indices[k]] = in[k]; of equal indices the last
  first_places,    // out (n) int64, indices (n)  IndexAttributes: the first place with the same index, in [0, axis)
  // out (n) int64, indices (n) of each axis…   MultiIndexAttributes: the place in all axes; those below 0 count from the end
  ravel_multi_index,
  one_hot,   // out (…, C), indices (…) int64      none: 1 at the index, else 0
  triangle,  // out, in               TriangleAttributes
  custom,    // outputs…, in place… (update), inputs…   CustomAttributes: a kernel of the program's
  source,    // outputs…              CustomAttributes: data that the program makes; what it does may take long
  // token (write), values… (update)[, terms… (read)]  CollectiveAttributes: what several processes do together
  collective,
  update,  // params…, states… (all update)[, counts of steps… (update)], grads…   UpdateAttributes
  // param (K, C), states… (all update)[, counts of steps (update)], indices (n), places (n), grad (n, C)
  update_rows,  // UpdateAttributes: row indices[k] by the gradient's row k, where places[k] = k
  count
};
inline constexpr int op_count = static_cast<int>(Op::count);

// The heading under which profiles list an operation.
enum class OpKind : std::uint8_t {
  product,
  convolution,
  attention,
  elementwise,
  normalisation,
  reduction,
  random,
  copy,
  custom,
  collective,
  update,
  count
};
constexpr const char* kind_name(OpKind kind) {
  constexpr const char* names[] = {"products",      "convolutions", "attention", "elementwise",
                                   "normalisation", "reductions",   "random",    "fills and copies",
                                   "custom",        "collectives",  "updates"};
  static_assert(std::size(names) == static_cast<std::size_t>(OpKind::count));
  return names[static_cast<std::size_t>(kind)];
}

// Some element types, as a mask of bits (1 << DType).
class DTypeSet {
 public:
  template <class... DTypes>
  constexpr explicit DTypeSet(DTypes... dtypes) : mask_((0U | ... | bit(dtypes))) {}
  constexpr bool has(DType dtype) const { return (mask_ & bit(dtype)) != 0; }
  constexpr DTypeSet with(DType dtype) const {
    DTypeSet more = *this;
    more.mask_ |= bit(dtype);
    return more;
  }

 private:
  static constexpr unsigned bit(DType dtype) { return 1U << static_cast<unsigned>(dtype); }
  unsigned mask_;
};
namespace types {
inline constexpr DTypeSet floating(float32, float64),
    multiplied = floating.with(bfloat16), arithmetic = floating.with(int64), integer(int64),
    boolean(asyncgrad::boolean), any(float32, float64, int64, int32, uint8, bfloat16, asyncgrad::boolean);
}  // namespace types

// The origin of an operation's gradient.
enum class GradientBy : std::uint8_t {
  none,      // its results are constants
  autograd,  // autograd records it; the gradient has a gradient, too
  caller,    // it is a part of an operation that is recorded, or the program brings the gradient along
};

struct OperationRow {
  Op op;
  const char* name;  // in errors and profiles; some operations are named by their attributes, see op_name()
  OpKind kind;
  // The types that a call may pass as its first input, or ask for as its output if there is no input. For elementwise
  // operations the formula decides.
  DTypeSet dtypes;
  GradientBy gradient;
};

inline constexpr auto operations = [] {
  using enum OpKind;
  using enum GradientBy;
  return std::array{
      OperationRow{Op::fill, "fill", copy, types::any, none},
      OperationRow{Op::arange, "arange", copy, types::any, none},
      OperationRow{Op::uniform, "uniform", random, types::floating, none},
      OperationRow{Op::normal, "normal", random, types::floating, none},
      OperationRow{Op::randint, "randint", random, types::integer, none},
      OperationRow{Op::permutation, "permutation", random, types::integer, none},
      OperationRow{Op::copy, "copy", copy, types::any, autograd},
      OperationRow{Op::elementwise, "elementwise", elementwise, types::any, autograd},
      OperationRow{Op::matmul, "matmul", product, types::multiplied, autograd},
      OperationRow{Op::dense, "dense", product, types::floating, autograd},
      OperationRow{Op::dense_grad, "dense_grad", elementwise, types::floating, caller},
      OperationRow{Op::sum, "sum", reduction, types::arithmetic.with(boolean), autograd},
      OperationRow{Op::sum_parts, "sum", reduction, types::arithmetic, caller},
      OperationRow{Op::sum_of_parts, "sum", reduction, DTypeSet(float64, int64), caller},
      OperationRow{Op::prod, "prod", reduction, types::arithmetic, autograd},
      OperationRow{Op::prod_parts, "prod", reduction, types::arithmetic, caller},
      OperationRow{Op::prod_of_parts, "prod", reduction, DTypeSet(float64, int64), caller},
      OperationRow{Op::prod_grad, "prod_grad", reduction, types::floating, caller},
      OperationRow{Op::max, "max", reduction, types::arithmetic, autograd},
      OperationRow{Op::min, "min", reduction, types::arithmetic, autograd},
      OperationRow{Op::any, "any", reduction, types::boolean, none},
      OperationRow{Op::all, "all", reduction, types::boolean, none},
      OperationRow{Op::max_grad, "max_grad", reduction, types::floating, caller},
      OperationRow{Op::argmax, "argmax", reduction, types::arithmetic, none},
      OperationRow{Op::argmin, "argmin", reduction, types::arithmetic, none},
      OperationRow{Op::argsort, "argsort", reduction, types::arithmetic, none},
      OperationRow{Op::cumsum, "cumsum", reduction, types::arithmetic, autograd},
      OperationRow{Op::softmax, "softmax", normalisation, types::floating, autograd},
      OperationRow{Op::softmax_grad, "softmax_grad", normalisation, types::floating, caller},
      OperationRow{Op::log_softmax, "log_softmax", normalisation, types::floating, autograd},
      OperationRow{Op::log_softmax_grad, "log_softmax_grad", normalisation, types::floating, caller},
      OperationRow{Op::cross_entropy, "cross_entropy", reduction, types::floating, autograd},
      OperationRow{Op::cross_entropy_grad, "cross_entropy_grad", normalisation, types::floating, caller},
      OperationRow{Op::ctc, "ctc", reduction, types::floating, autograd},
      OperationRow{Op::ctc_grad, "ctc_grad", reduction, types::floating, caller},
      OperationRow{Op::layer_norm, "layer_norm", normalisation, types::floating, autograd},
      OperationRow{Op::layer_norm_grad, "layer_norm_grad", normalisation, types::floating, caller},
      OperationRow{Op::group_norm, "group_norm", normalisation, types::floating, autograd},
      OperationRow{Op::group_norm_grad, "group_norm_grad", normalisation, types::floating, caller},
      OperationRow{Op::batch_norm, "batch_norm", normalisation, types::floating, autograd},
      OperationRow{Op::batch_norm_grad, "batch_norm_grad", normalisation, types::floating, caller},
      OperationRow{Op::conv, "conv2d", convolution, types::floating, autograd},
      OperationRow{Op::conv_input, "conv2d_input_grad", convolution, types::floating, autograd},
      OperationRow{Op::conv_weight, "conv2d_weight_grad", convolution, types::floating, autograd},
      OperationRow{Op::max_pool, "max_pool2d", reduction, types::floating, autograd},
      OperationRow{Op::max_pool_grad, "max_pool2d_grad", reduction, types::floating, caller},
      OperationRow{Op::avg_pool, "avg_pool2d", reduction, types::floating, autograd},
      OperationRow{Op::avg_pool_grad, "avg_pool2d_grad", reduction, types::floating, autograd},
      OperationRow{Op::dropout, "dropout", elementwise, types::floating, autograd},
      OperationRow{Op::attention, "attention", attention, types::floating, autograd},
      OperationRow{Op::attention_grad, "attention_grad", attention, types::floating, caller},
      OperationRow{Op::recurrent_cell, "recurrent_cell", elementwise, types::floating, autograd},
      OperationRow{Op::recurrent_cell_grad, "recurrent_cell_grad", elementwise, types::floating, caller},
      OperationRow{Op::recurrent, "recurrent", product, types::floating, caller},
      OperationRow{Op::recurrent_grad, "recurrent_grad", product, types::floating, caller},
      OperationRow{Op::strided_copy, "strided_copy", copy, types::any, autograd},
      OperationRow{Op::concat, "concat", copy, types::any, autograd},
      OperationRow{Op::take, "take", copy, types::any, autograd},
      OperationRow{Op::take_grad, "take_grad", copy, types::arithmetic, autograd},
      OperationRow{Op::gather, "gather", copy, types::any, autograd},
      OperationRow{Op::scatter_add, "scatter_add", copy, types::arithmetic, autograd},
      OperationRow{Op::put, "put", copy, types::any, autograd},
      OperationRow{Op::first_places, "first_places", copy, types::integer, none},
      OperationRow{Op::ravel_multi_index, "ravel_multi_index", copy, types::integer, none},
      OperationRow{Op::one_hot, "one_hot", copy, types::any, none},
      OperationRow{Op::triangle, "triangle", copy, types::any, autograd},
      OperationRow{Op::custom, "custom", custom, types::any, caller},
      OperationRow{Op::source, "source", custom, types::any, caller},
      OperationRow{Op::collective, "collective", OpKind::collective, types::any, none},
      OperationRow{Op::update, "update", update, types::floating, none},
      OperationRow{Op::update_rows, "update_rows", update, types::floating, none},
  };
}();
constexpr bool are_in_order() {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].op != static_cast<Op>(i) || operations[i].name == nullptr) return false;
  }
  return operations.size() == static_cast<std::size_t>(op_count);
}
static_assert(are_in_order(), "every operation has a row, in the order of Op");
constexpr const OperationRow& row_of(Op op) { return operations[static_cast<std::size_t>(op)]; }

// The name that errors and profiles show: "matmul", "relu". Without attributes: that of the row.
const char* op_name(Op op, const void* attributes);
const char* formula_name(int formula);  // by formulas::id
// Appends an operand to a list as they show it: "to (8, 4), (8, 2), (2, 4)".
void append_operand(std::string& list, Access access, const Shape& shape);

}  // namespace asyncgrad::detail
