// Sums of products over named axes. All are differentiable, of any order, take float32 and float64, are queued, and may
// wait for room. They are made of matrix products, see matmul.h, to whose form operands are copied where it is another.
#pragma once

#include <string_view>

#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/tensor_list.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

// The sum of products that an equation names, as numpy.einsum: "ij,jk->ik" is the matrix product, "...ij->...ji" the
// transposed matrices, "ii->i" a diagonal, "i,i" a dot product. Each operand's term has a letter for each of its axes.
// Axes of one letter have one extent, or extent 1, and are broadcast; a letter that a term has twice takes the
// diagonal. "..." stands for any number of axes, which are broadcast as in elementwise operations. Products are summed
// over the letters that the result lacks. Without "->" the result has the axes of "...", and then the letters that
// occur once, in alphabetical order. Spaces mean nothing.
//
// Two operands at a time are multiplied: those whose product adds the fewest elements, the first ones of equals.
//
// Throws Error, which shows the equation and the operands' shapes, for an equation that is none or does not fit the
// operands, for a result or a product with more than six axes, and for operands whose types or devices differ.
Tensor einsum(std::string_view equation, TensorList operands, Location where = Location::current());

// The sum of products over pairs of axes, axis x_axes[i] of x with axis y_axes[i] of y: the result has the other axes
// of x, then those of y. Throws Error for axes that do not exist, are named twice, or whose extents differ, and for
// operands whose types or devices differ.
Tensor tensordot(const Arg& x, const Arg& y, const Axes& x_axes, const Axes& y_axes);
// Over the last `axes` axes of x and as many first ones of y: 1 is the matrix product of matrices, 0 the outer product.
Tensor tensordot(const Arg& x, const Arg& y, int axes = 2);

}  // namespace asyncgrad
