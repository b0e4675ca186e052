// A sum of products of labelled tensors, as einsum() and tensordot() need it. Internal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// What names an axis: a letter of the equation, or a negative number for an axis of "...", of which -1 is the last.
using Label = int;
using Labels = std::vector<Label>;
using LabelExtents = std::map<Label, std::int64_t>;

inline bool has(const Labels& labels, Label label) { return std::ranges::find(labels, label) != labels.end(); }

template <class Condition>
Labels those(const Labels& labels, const Condition& condition) {
  Labels found;
  std::ranges::copy_if(labels, std::back_inserter(found), condition);
  return found;
}
inline Labels joined(Labels first, const Labels& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A tensor whose axes have labels, none of them twice.
struct Term {
  Tensor x;
  Labels labels;
};

// A sum of products of terms: the result has some of their labels. Terms are multiplied two at a time.
class Contraction {
 public:
  Contraction(Labels result, LabelExtents extents, Location where)
      : result_(std::move(result)), extents_(std::move(extents)), where_(where) {}

  // Plans the products. Returns the most axes that one of them has. Called before anything is queued.
  std::size_t plan(std::vector<Labels> terms);
  // The value of the terms whose labels were planned.
  Tensor value(std::vector<Term> terms) const;

 private:
  // Terms `left` < `right` are multiplied, and the product takes the place of `left`.
  struct Step {
    std::size_t left = 0, right = 1;
    Labels needed{};  // by the result and by other terms
  };
  // A term as (batch,) rows, columns, or with the last two exchanged if that needs no copy.
  struct Matrices {
    Tensor x;
    bool is_transposed;
  };

  // The labels that the result and all terms but two have.
  Labels needed_without(const std::vector<Labels>& terms, std::size_t i, std::size_t j) const;
  Step cheapest(const std::vector<Labels>& terms) const;

  double elements(const Labels& labels) const;
  std::int64_t extent(const Labels& labels) const { return shape(labels).numel(); }
  Shape shape(const Labels& labels) const;
  Arg at(const Tensor& x) const { return {x, where_}; }

  // The term with its labels in this order.
  Tensor in_order(const Term& term, const Labels& order) const;
  // The term with its labels in this order, and an axis of extent 1 for each of the others.
  Tensor spread(const Term& term, const Labels& order) const;
  Term summed(const Term& term, const Labels& needed) const;
  Matrices matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns) const;
  Term product(const Term& left, const Term& right, const Labels& needed) const;

  Labels result_;
  LabelExtents extents_;
  Location where_;
  std::vector<Step> steps_;
};

}  // namespace asyncgrad::detail
