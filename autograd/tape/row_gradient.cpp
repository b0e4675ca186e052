#include "asyncgrad/autograd/tape/row_gradient.h"

#include <algorithm>
#include <utility>

#include "asyncgrad/autograd/creation.h"
#include "asyncgrad/autograd/shape.h"
#include "asyncgrad/autograd/tape/leaf.h"
#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/autograd/tape/reuse.h"
#include "asyncgrad/core/engine/submit.h"

namespace asyncgrad::detail {

namespace {

// to (K, C) += rows (n, C) at the indices (n).
void add_rows(const Tensor& to, const Tensor& indices, const Tensor& rows, Location where) {
  submit(Op::take_grad, {finishes(to), reads(indices), reads(rows)},
         IndexAttributes{.axis = to.shape()[0], .inner = rows.shape()[1]}, where);
}

}  // namespace

// The indices belong to the program, which may write them before the next step.
void RowGradient::add(const Tensor& indices, const Tensor& dy) {
  const std::int64_t count = indices.shape().numel();
  std::int64_t width = 1;
  for (int i = indices.shape().rank(); i < dy.shape().rank(); ++i) width *= dy.shape()[i];
  const Tensor rows = is_exclusive(dy) ? dy : dy.clone(Location());
  parts_.push_back({indices.clone(Location()).reshape({count}), rows.reshape({count, width})});
  places_ = Tensor();
}

void RowGradient::move_to(const Tensor& dx) {
  // One by one: a part that has been queued is not queued again if the next one cannot be.
  for (; !parts_.empty(); parts_.erase(parts_.begin())) {
    add_rows(dx, parts_.front().indices, parts_.front().rows, Location());
  }
  clear();
}

void RowGradient::join(Location where) {
  if (parts_.size() == 1) return;
  std::vector<Tensor> indices, rows;
  for (const Part& part : parts_) {
    indices.push_back(part.indices);
    rows.push_back(part.rows);
  }
  parts_ = {{concat(indices, 0, where), concat(rows, 0, where)}};
}

bool RowGradient::is_lost() const {
  return std::ranges::any_of(
      parts_, [](const Part& part) { return detail::is_lost(part.indices) || detail::is_lost(part.rows); });
}

RowGradient::Combined RowGradient::combined(std::int64_t table_rows, Location where) {
  join(where);
  auto& [indices, rows] = parts_.front();
  if (!places_.defined()) {
    Tensor places = make_like(indices, indices.shape());
    submit(Op::first_places, {writes(places), reads(indices)}, IndexAttributes{.axis = table_rows}, where);
    const Tensor sums = zeros(rows.shape(), {.dtype = rows.dtype(), .device = rows.device()}, where);
    add_rows(sums, places, rows, where);
    rows = sums;
    places_ = std::move(places);
  }
  return {indices, places_, rows};
}

RowGradient* row_gradient_of(const Tensor& tensor) {
  if (!has_history(tensor) || !tensor.impl()->node->is_leaf()) return nullptr;
  Leaf& leaf = *static_cast<Leaf*>(tensor.impl()->node);
  return leaf.has_rows() ? &leaf.rows() : nullptr;
}

}  // namespace asyncgrad::detail
