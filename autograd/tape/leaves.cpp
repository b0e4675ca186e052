#include "asyncgrad/autograd/leaves.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "asyncgrad/autograd/tape/node.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad {

namespace {

// The operation that used each leaf first: the one with the smallest number. Works without recursion, because a chain
// may have a million nodes.
std::unordered_map<const Node*, const Node*> first_uses(const Node& last) {
  std::unordered_map<const Node*, const Node*> uses;
  std::unordered_set<const Node*> seen{&last};
  std::vector<const Node*> unvisited{&last};
  while (!unvisited.empty()) {
    const Node& node = *unvisited.back();
    unvisited.pop_back();
    if (node.is_leaf()) continue;
    if (!node.is_intact()) {
      throw_error("missing_leaves", fmt::format("backward() has dropped what led to {}, queued at {}; call this before",
                                                node.operation(), node.origin().str()));
    }
    for (int i = 0; i < node.input_count(); ++i) {
      const Node* const input = node.input(i);
      if (input == nullptr) continue;
      if (input->is_leaf()) {
        const Node*& use = uses.try_emplace(input, &node).first->second;
        if (node.number() < use->number()) use = &node;
      } else if (seen.insert(input).second) {
        unvisited.push_back(input);
      }
    }
  }
  return uses;
}

}  // namespace

std::vector<std::string> missing_leaves(const Tensor& y, const std::vector<Tensor>& known) {
  const Node* const last = detail::checked_impl(y, "missing_leaves").node;
  if (last == nullptr) return {};
  std::unordered_map<const Node*, const Node*> uses = first_uses(*last);
  for (const Tensor& tensor : known) uses.erase(detail::checked_impl(tensor, "missing_leaves").node);
  std::multimap<std::uint64_t, std::string> lines;
  for (const auto& [leaf, use] : uses) {
    lines.emplace(use->number(), fmt::format("{}, used by {}, queued at {}", leaf->shape().str(), use->operation(),
                                             use->origin().str()));
  }
  std::vector<std::string> texts;
  for (auto& [number, text] : lines) texts.push_back(std::move(text));
  return texts;
}

bool is_parameter(const Tensor& x) { return x.requires_grad() || x.impl()->is_parameter; }

void require_as(const Tensor& x, Tensor& copy) {
  if (!is_parameter(x)) return;
  copy.requires_grad_();
  if (!x.requires_grad()) copy.requires_grad_(false);
}

}  // namespace asyncgrad
