#include "asyncgrad/autograd/networks/contraction.h"

#include <limits>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/grad_mode.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/reduce.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operation_node.h"

namespace asyncgrad::detail {

namespace {

// How a product of two terms gets the labels that are kept: each of these lists may be empty.
struct Roles {
  Labels batch;          // of both, kept
  Labels inner;          // of both, summed over
  Labels rows, columns;  // of one of them

  Roles(const Labels& left, const Labels& right, const Labels& kept)
      : batch(those(left, [&](Label label) { return has(right, label) && has(kept, label); })),
        inner(those(left, [&](Label label) { return has(right, label) && !has(kept, label); })),
        rows(those(left, [&](Label label) { return !has(right, label); })),
        columns(those(right, [&](Label label) { return !has(left, label); })) {}
  Labels result() const { return joined(joined(batch, rows), columns); }
};

// The products of a column (N, 1) by a row (1, M), recorded. Its gradients are products of a matrix by a vector:
// multiplying and adding up takes several times as long.
Tensor outer(const Arg& x, const Arg& w) {
  Tensor y;
  {
    const NoGrad no_grad;
    y = x * w;
  }
  record(Recorded(Op::elementwise).as("einsum"), x.where(), y, {x, w},
         differentiable(
             [x = save(x, has_history(w)), w = save(w, has_history(x))](const Tensor& dy, Gradients& gradients) {
               gradients(0, [&] { return matmul(dy, gradients.read_input(w, 1), {.transpose_w = true}); });
               gradients(1, [&] { return matmul(gradients.read_input(x, 0), dy, {.transpose_x = true}); });
             }));
  return y;
}

}  // namespace

std::size_t Contraction::plan(std::vector<Labels> terms) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Labels needed = needed_without(terms, i, i);
    terms[i] = those(terms[i], [&](Label label) { return has(needed, label); });
  }
  std::size_t most_axes = 0;
  while (terms.size() > 1) {
    steps_.push_back(cheapest(terms));
    const Step& step = steps_.back();
    terms[step.left] = Roles(terms[step.left], terms[step.right], step.needed).result();
    most_axes = std::max(most_axes, terms[step.left].size());
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.right));
  }
  return most_axes;
}

Tensor Contraction::value(std::vector<Term> terms) const {
  std::vector<Labels> labels(terms.size());
  std::ranges::transform(terms, labels.begin(), &Term::labels);
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = summed(terms[i], needed_without(labels, i, i));
  for (const Step& step : steps_) {
    terms[step.left] = product(terms[step.left], terms[step.right], step.needed);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.right));
  }
  return in_order(terms[0], result_);
}

Labels Contraction::needed_without(const std::vector<Labels>& terms, std::size_t i, std::size_t j) const {
  Labels needed = result_;
  for (std::size_t other = 0; other < terms.size(); ++other) {
    if (other != i && other != j) needed = joined(std::move(needed), terms[other]);
  }
  return needed;
}

Contraction::Step Contraction::cheapest(const std::vector<Labels>& terms) const {
  Step best;
  double fewest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      Labels needed = needed_without(terms, i, j);
      const Labels result = Roles(terms[i], terms[j], needed).result();
      const double added = elements(result) - elements(terms[i]) - elements(terms[j]);
      if (added >= fewest) continue;
      fewest = added;
      best = {i, j, std::move(needed)};
    }
  }
  return best;
}

double Contraction::elements(const Labels& labels) const {
  double count = 1;
  for (const Label label : labels) count *= static_cast<double>(extents_.at(label));
  return count;
}

Shape Contraction::shape(const Labels& labels) const {
  Shape shape;
  for (const Label label : labels) shape.append(extents_.at(label));
  return shape;
}

Tensor Contraction::in_order(const Term& term, const Labels& order) const {
  if (term.labels == order) return term.x;
  std::vector<int> axes;
  for (const Label label : order) {
    axes.push_back(static_cast<int>(std::ranges::find(term.labels, label) - term.labels.begin()));
  }
  return permute(at(term.x), Axes(axes));
}

Tensor Contraction::spread(const Term& term, const Labels& order) const {
  const auto is_there = [&](Label label) { return has(term.labels, label); };
  Shape shape;
  for (const Label label : order) shape.append(is_there(label) ? extents_.at(label) : 1);
  return in_order(term, those(order, is_there)).reshape(shape, where_);
}

Term Contraction::summed(const Term& term, const Labels& needed) const {
  AxisMask axes = 0;
  for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
    if (!has(needed, term.labels[axis])) axes |= AxisMask{1} << axis;
  }
  if (axes == 0) return term;
  return {recorded_sum("einsum", term.x, axes, reduced(term.x.shape(), axes, false), 1, where_),
          those(term.labels, [&](Label label) { return has(needed, label); })};
}

Contraction::Matrices Contraction::matrices(const Term& term, const Labels& batch, const Labels& rows,
                                            const Labels& columns) const {
  const bool is_transposed =
      term.labels != joined(joined(batch, rows), columns) && term.labels == joined(joined(batch, columns), rows);
  const Labels &first = is_transposed ? columns : rows, &last = is_transposed ? rows : columns;
  const Tensor x = in_order(term, joined(joined(batch, first), last));
  const Shape seen =
      batch.empty() ? Shape{extent(first), extent(last)} : Shape{extent(batch), extent(first), extent(last)};
  return {x.reshape(seen, where_), is_transposed};
}

Term Contraction::product(const Term& left, const Term& right, const Labels& needed) const {
  const Roles roles(left.labels, right.labels, needed);
  if (roles.inner.empty()) {
    Labels order;  // that in which they are needed, so that the result is not copied for another one
    for (const Label label : needed) {
      if ((has(left.labels, label) || has(right.labels, label)) && !has(order, label)) order.push_back(label);
    }
    const bool is_of_vectors = roles.batch.empty() && order == joined(roles.rows, roles.columns);
    if (is_of_vectors && records(left.x, right.x)) {
      const Tensor x = in_order(left, roles.rows), w = in_order(right, roles.columns);
      const Tensor y = outer(at(x.reshape({x.numel(), 1}, where_)), at(w.reshape({1, w.numel()}, where_)));
      return {y.reshape(shape(order), where_), order};
    }
    return {at(spread(left, order)) * at(spread(right, order)), order};
  }
  Tensor y;
  if (roles.rows.empty() && roles.columns.empty() && !roles.batch.empty()) {
    // Many short rows, each by one column.
    const Labels order = joined(roles.batch, roles.inner);
    const Shape seen{extent(roles.batch), extent(roles.inner)};
    const Tensor x = in_order(left, order).reshape(seen, where_), w = in_order(right, order).reshape(seen, where_);
    const Tensor products = at(x) * at(w);
    y = sum(at(products), 1);
  } else {
    const Matrices x = matrices(left, roles.batch, roles.rows, roles.inner),
                   w = matrices(right, roles.batch, roles.inner, roles.columns);
    y = matmul(at(x.x), at(w.x), {.transpose_x = x.is_transposed, .transpose_w = w.is_transposed});
  }
  return {y.reshape(shape(roles.result()), where_), roles.result()};
}

}  // namespace asyncgrad::detail
