#include "asyncgrad/autograd/tape/crossed_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/core/warn.h"
#include "asyncgrad/core/wording.h"

namespace asyncgrad::detail {

namespace {

// What losses are made of, beside the difference itself.
bool is_of_losses(std::string_view operation) {
  constexpr std::array<std::string_view, 13> names = {"mean",     "sum", "square", "abs",  "pow",   "cube",   "negate",
                                                      "multiply", "add", "divide", "sqrt", "huber", "reshape"};
  return std::ranges::find(names, operation) != names.end();
}

void warn_of(const Node& node, const CrossedShapes& shapes) {
  const Shape& wanted = shapes.x.rank() > shapes.y.rank() ? shapes.x : shapes.y;
  const char* const label = shapes.x.rank() > shapes.y.rank() ? "y" : "x";
  warn(node.operation(),
       fmt::format("x {} and y {} broadcast to {} in a loss, which compares each prediction with every label; {}{} "
                   "gives both one shape",
                   shapes.x.str(), shapes.y.str(), node.shape().str(), label, reshape_str(wanted)),
       node.origin());
}

}  // namespace

bool crosses_in_loss(const Tensor& x, const Tensor& y) {
  const int difference = x.rank() - y.rank();
  if (difference != 1 && difference != -1) return false;
  const Shape& longer = (difference > 0 ? x : y).shape();
  const Shape& shorter = (difference > 0 ? y : x).shape();
  return longer[-1] == 1 && shorter.numel() > 1 && has_history(x) != has_history(y) &&
         std::equal(shorter.begin(), shorter.end(), longer.begin());
}

void warn_of_crossed_loss(std::span<const Tensor> losses) {
  if (!warnings_are_on()) return;
  constexpr std::size_t max_nodes = 16;
  std::array<const Node*, max_nodes> nodes{};
  std::size_t count = 0;
  for (const Tensor& loss : losses) {
    if (count < max_nodes) nodes[count++] = loss.impl()->node;
  }
  for (std::size_t next = 0; next < count; ++next) {
    const Node& node = *nodes[next];
    if (const CrossedShapes* const shapes = node.crossed()) return warn_of(node, *shapes);
    if (!is_of_losses(node.operation())) continue;
    for (int i = 0; i < node.input_count() && count < max_nodes; ++i) {
      if (node.input(i) != nullptr) nodes[count++] = node.input(i);
    }
  }
}

}  // namespace asyncgrad::detail
