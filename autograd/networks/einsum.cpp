#include "asyncgrad/autograd/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "asyncgrad/autograd/elementwise.h"
#include "asyncgrad/autograd/forms/broadcast.h"
#include "asyncgrad/autograd/forms/parts.h"
#include "asyncgrad/autograd/forms/reductions.h"
#include "asyncgrad/autograd/matmul.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

using namespace detail;

namespace {

// What names an axis: a letter of the equation, or a negative number for an axis of "...", of which -1 is the last.
using Label = int;
using Labels = std::vector<Label>;
using Extents = std::map<Label, std::int64_t>;

bool has(const Labels& labels, Label label) { return std::ranges::find(labels, label) != labels.end(); }

template <class Condition>
Labels those(const Labels& labels, const Condition& condition) {
  Labels found;
  std::ranges::copy_if(labels, std::back_inserter(found), condition);
  return found;
}
Labels joined(Labels first, const Labels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// --- The products, two terms at a time.

// A tensor whose axes have labels, none of them twice.
struct Term {
  Tensor x;
  Labels labels;
};

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

// A sum of products of terms: the result has some of their labels.
class Contraction {
 public:
  Contraction(Labels result, Extents extents, Location where)
      : result_(std::move(result)), extents_(std::move(extents)), where_(where) {}

  // Plans the products. Returns the most axes that one of them has. Called before anything is queued.
  std::size_t plan(std::vector<Labels> terms) {
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

  // The value of the terms whose labels were planned.
  Tensor value(std::vector<Term> terms) const {
    std::vector<Labels> labels(terms.size());
    std::ranges::transform(terms, labels.begin(), &Term::labels);
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = summed(terms[i], needed_without(labels, i, i));
    for (const Step& step : steps_) {
      terms[step.left] = product(terms[step.left], terms[step.right], step.needed);
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.right));
    }
    return in_order(terms[0], result_);
  }

 private:
  // Terms `left` < `right` are multiplied, and the product takes the place of `left`.
  struct Step {
    std::size_t left = 0, right = 1;
    Labels needed{};  // by the result and by other terms
  };

  // The labels that the result and all terms but two have.
  Labels needed_without(const std::vector<Labels>& terms, std::size_t i, std::size_t j) const {
    Labels needed = result_;
    for (std::size_t other = 0; other < terms.size(); ++other) {
      if (other != i && other != j) needed = joined(std::move(needed), terms[other]);
    }
    return needed;
  }

  Step cheapest(const std::vector<Labels>& terms) const {
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

  double elements(const Labels& labels) const {
    double count = 1;
    for (const Label label : labels) count *= static_cast<double>(extents_.at(label));
    return count;
  }
  std::int64_t extent(const Labels& labels) const { return shape(labels).numel(); }
  Shape shape(const Labels& labels) const {
    Shape shape;
    for (const Label label : labels) shape.append(extents_.at(label));
    return shape;
  }
  Arg at(const Tensor& x) const { return {x, where_}; }

  // The term with its labels in this order.
  Tensor in_order(const Term& term, const Labels& order) const {
    if (term.labels == order) return term.x;
    std::vector<int> axes;
    for (const Label label : order) {
      axes.push_back(static_cast<int>(std::ranges::find(term.labels, label) - term.labels.begin()));
    }
    return permute(at(term.x), Axes(axes));
  }

  Term summed(const Term& term, const Labels& needed) const {
    AxisMask axes = 0;
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (!has(needed, term.labels[axis])) axes |= AxisMask{1} << axis;
    }
    if (axes == 0) return term;
    return {recorded_sum("einsum", term.x, axes, reduced(term.x.shape(), axes, false), 1, where_),
            those(term.labels, [&](Label label) { return has(needed, label); })};
  }

  // The term as (batch,) rows, columns, or with the last two exchanged if that needs no copy.
  struct Matrices {
    Tensor x;
    bool is_transposed;
  };
  Matrices matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns) const {
    const bool is_transposed =
        term.labels != joined(joined(batch, rows), columns) && term.labels == joined(joined(batch, columns), rows);
    const Labels &first = is_transposed ? columns : rows, &last = is_transposed ? rows : columns;
    const Tensor x = in_order(term, joined(joined(batch, first), last));
    const Shape seen =
        batch.empty() ? Shape{extent(first), extent(last)} : Shape{extent(batch), extent(first), extent(last)};
    return {x.reshape(seen, where_), is_transposed};
  }

  Term product(const Term& left, const Term& right, const Labels& needed) const {
    const Roles roles(left.labels, right.labels, needed);
    Tensor y;
    if (roles.inner.empty()) {
      const Tensor x = in_order(left, joined(roles.batch, roles.rows)),
                   w = in_order(right, joined(roles.batch, roles.columns));
      const std::int64_t batch = extent(roles.batch);
      y = at(x.reshape({batch, extent(roles.rows), 1}, where_)) *
          at(w.reshape({batch, 1, extent(roles.columns)}, where_));
    } else if (roles.rows.empty() && roles.columns.empty() && !roles.batch.empty()) {
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

  Labels result_;
  Extents extents_;
  Location where_;
  std::vector<Step> steps_;
};

// --- The equation.

class Equation {
 public:
  // Throws Error unless the equation fits the operands.
  Equation(std::string_view text, std::span<const Tensor> operands) : text_(text), operands_(operands) {
    std::string spaceless;
    std::ranges::copy_if(text, std::back_inserter(spaceless), [](char c) { return c != ' '; });
    const std::size_t arrow = spaceless.find("->");
    read_terms(spaceless.substr(0, arrow));
    for (std::size_t i = 0; i < terms_.size(); ++i) note_extents(i);
    result_ = arrow == std::string::npos ? implicit_result() : expanded(spaceless.substr(arrow + 2), dots_);
    check_result();
  }

  Tensor value(Location where) const {
    Contraction contraction(result_, extents_, where);
    std::vector<Labels> labels;
    for (std::size_t i = 0; i < terms_.size(); ++i) labels.push_back(kept_labels(i));
    if (contraction.plan(labels) > Shape::max_rank) fail("a product would have more than six axes");
    std::vector<Term> terms;
    for (std::size_t i = 0; i < terms_.size(); ++i) terms.push_back({without_repeats(i, where), labels[i]});
    return contraction.value(std::move(terms));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    std::string shapes;
    for (const Tensor& x : operands_) shapes += (shapes.empty() ? "" : ", ") + x.shape().str();
    throw_error("einsum", fmt::format("{}: {}; operands {}", quoted(text_), why, shapes));
  }
  static std::string quoted(std::string_view text) {
    constexpr std::size_t shown = 80;
    return text.size() <= shown ? fmt::format("{:?}", text) : fmt::format("{:?}...", text.substr(0, shown));
  }
  static std::string name(Label label) {
    return label < 0 ? "an axis of ..." : std::string(1, static_cast<char>(label));
  }

  // The labels of a term in which "..." stands for `dots` axes.
  Labels expanded(std::string_view term, int dots) const {
    Labels labels;
    bool has_dots = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      const char c = term[i];
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        labels.push_back(c);
      } else if (term.substr(i, 3) == "..." && !has_dots) {
        for (int axis = -dots; axis < 0; ++axis) labels.push_back(axis);
        has_dots = true;
        i += 2;
      } else {
        fail(fmt::format("{:?} in {} is neither a letter nor the only ...", c, quoted(term)));
      }
    }
    return labels;
  }

  void read_terms(const std::string& inputs) {
    std::vector<std::string> parts(1);
    for (const char c : inputs) {
      if (c == ',') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    if (parts.size() != operands_.size()) {
      fail(fmt::format("{} terms for {} operands", parts.size(), operands_.size()));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int letters = static_cast<int>(expanded(parts[i], 0).size()), rank = operands_[i].rank();
      const bool has_dots = parts[i].find('.') != std::string::npos;
      if (has_dots ? letters > rank : letters != rank) {
        fail(fmt::format("{} names {} axes of operand {}, which has {}", quoted(parts[i]), letters, i, rank));
      }
      terms_.push_back(expanded(parts[i], rank - letters));
      if (has_dots) dots_ = std::max(dots_, rank - letters);
    }
  }

  void note_extents(std::size_t i) {
    for (std::size_t axis = 0; axis < terms_[i].size(); ++axis) {
      const Label label = terms_[i][axis];
      const std::int64_t extent = operands_[i].size(static_cast<int>(axis));
      const auto first = static_cast<int>(std::ranges::find(terms_[i], label) - terms_[i].begin());
      std::int64_t& known = extents_.emplace(label, extent).first->second;
      const bool is_diagonal = operands_[i].size(first) == extent;
      if (!is_diagonal || (known != extent && known != 1 && extent != 1)) {
        fail(fmt::format("{} is {} and {}", name(label), is_diagonal ? known : operands_[i].size(first), extent));
      }
      if (known == 1) known = extent;
    }
  }

  Labels implicit_result() const {
    Labels result;
    for (int axis = -dots_; axis < 0; ++axis) result.push_back(axis);
    for (const auto& [label, extent] : extents_) {  // ascending
      std::ptrdiff_t count = 0;
      for (const Labels& term : terms_) count += std::ranges::count(term, label);
      if (label > 0 && count == 1) result.push_back(label);
    }
    return result;
  }

  void check_result() const {
    for (const Label label : result_) {
      if (!extents_.contains(label)) fail(fmt::format("no operand has {}", name(label)));
      if (std::ranges::count(result_, label) > 1) fail(fmt::format("the result has {} twice", name(label)));
    }
    if (result_.size() > Shape::max_rank) fail("the result would have more than six axes");
  }

  // An operand's labels, each once, without those along which it is broadcast.
  Labels kept_labels(std::size_t i) const {
    Labels kept;
    for (std::size_t axis = 0; axis < terms_[i].size(); ++axis) {
      const Label label = terms_[i][axis];
      const bool is_broadcast = operands_[i].size(static_cast<int>(axis)) != extents_.at(label);
      if (!is_broadcast && !has(kept, label)) kept.push_back(label);
    }
    return kept;
  }
  // The operand with an axis for each of these.
  Tensor without_repeats(std::size_t i, Location where) const {
    const Tensor& x = operands_[i];
    const Labels kept = kept_labels(i);
    const Region all = whole(x.shape());
    Region region;
    bool repeats = false;
    for (const Label label : kept) {
      std::int64_t stride = 0;
      for (std::size_t axis = 0; axis < terms_[i].size(); ++axis) {
        if (terms_[i][axis] == label) stride += all.stride(static_cast<int>(axis));
      }
      repeats = repeats || std::ranges::count(terms_[i], label) > 1;
      region.append(extents_.at(label), stride);
    }
    if (!repeats) return region.shape == x.shape() ? x : x.reshape(region.shape, where);
    Tensor y = copy_out(CopyKind::slice, x, region, where);
    record_part("slice", x, y, region, where);
    return y;
  }

  std::string_view text_;
  std::span<const Tensor> operands_;
  std::vector<Labels> terms_;
  Extents extents_;
  int dots_ = 0;  // the axes of "..."
  Labels result_;
};

// The operands are of one floating type and on one device.
void check_operands(const char* operation, std::span<const Tensor> operands) {
  if (operands.empty()) throw_error(operation, "there are no operands");
  const NamedOperand first{"first", checked_operand(operands.front(), operation)};
  for (const Tensor& operand : operands) {
    const NamedOperand other{"another", checked_operand(operand, operation)};
    check_floating(operation, {"operand", other.impl});
    check_alike(operation, {first, other});
  }
}

}  // namespace

Tensor einsum(std::string_view equation, TensorList operands, Location where) {
  const CallSite site(where);
  const std::span all_operands = operands.all();
  check_operands("einsum", all_operands);
  Tensor y = Equation(equation, all_operands).value(where);
  const bool is_operand = std::ranges::any_of(all_operands, [&](const Tensor& x) { return x.impl() == y.impl(); });
  return is_operand ? y.clone(where) : y;  // the result is never an input itself
}

namespace {

struct Pairs {
  std::vector<int> of_x, of_y;
};

Tensor contracted(const Arg& x, const Arg& y, const Pairs& pairs) {
  const NamedOperand operands[] = {{"x", *x->impl()}, {"y", *y->impl()}};
  if (pairs.of_x.size() != pairs.of_y.size()) {
    throw_error("tensordot", fmt::format("{} axes of x and {} of y are no pairs: {}", pairs.of_x.size(),
                                         pairs.of_y.size(), shapes_str(operands)));
  }
  // Axis i of x has the label 1 + i, and so has the axis of y beside it.
  Labels of_x, of_y, result;
  for (int axis = 0; axis < x->rank(); ++axis) of_x.push_back(1 + axis);
  for (int axis = 0; axis < y->rank(); ++axis) of_y.push_back(1 + Shape::max_rank + axis);
  AxisMask seen_x = 0, seen_y = 0;
  for (std::size_t i = 0; i < pairs.of_x.size(); ++i) {
    const int a = add_axis("tensordot", x->shape(), pairs.of_x[i], seen_x),
              b = add_axis("tensordot", y->shape(), pairs.of_y[i], seen_y);
    if (x->size(a) != y->size(b)) {
      throw_error("tensordot", fmt::format("axis {} of x and axis {} of y differ: {}", a, b, shapes_str(operands)));
    }
    of_y[static_cast<std::size_t>(b)] = 1 + a;
  }
  Extents extents;
  for (int axis = 0; axis < x->rank(); ++axis) extents[of_x[static_cast<std::size_t>(axis)]] = x->size(axis);
  for (int axis = 0; axis < y->rank(); ++axis) extents[of_y[static_cast<std::size_t>(axis)]] = y->size(axis);
  result = joined(those(of_x, [&](Label label) { return !has(of_y, label); }),
                  those(of_y, [&](Label label) { return !has(of_x, label); }));
  if (result.size() > Shape::max_rank) {
    throw_error("tensordot", fmt::format("the result would have more than six axes: {}", shapes_str(operands)));
  }
  Contraction contraction(result, std::move(extents), x.where());
  contraction.plan({of_x, of_y});
  return contraction.value({{x, of_x}, {y, of_y}});
}

void check_tensordot(const Arg& x, const Arg& y) {
  check_floating("tensordot", {"x", checked_operand(x, "tensordot")});
  check_alike("tensordot", {{"x", *x->impl()}, {"y", checked_operand(y, "tensordot")}});
}

}  // namespace

Tensor tensordot(const Arg& x, const Arg& y, const Axes& x_axes, const Axes& y_axes) {
  check_tensordot(x, y);
  return contracted(x, y, {{x_axes.begin(), x_axes.end()}, {y_axes.begin(), y_axes.end()}});
}

Tensor tensordot(const Arg& x, const Arg& y, int axes) {
  check_tensordot(x, y);
  if (axes < 0 || axes > x->rank() || axes > y->rank()) {
    const NamedOperand operands[] = {{"x", *x->impl()}, {"y", *y->impl()}};
    throw_error("tensordot", fmt::format("there are no {} axes of both: {}", axes, shapes_str(operands)));
  }
  Pairs pairs;
  for (int i = 0; i < axes; ++i) {
    pairs.of_x.push_back(x->rank() - axes + i);
    pairs.of_y.push_back(i);
  }
  return contracted(x, y, pairs);
}

}  // namespace asyncgrad
