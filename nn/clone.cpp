#include "asyncgrad/nn/clone.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "asyncgrad/autograd/leaves.h"
#include "asyncgrad/core/error.h"

namespace asyncgrad::nn::members_detail {

void PlaceVisitor::tensor(const std::string&, Tensor& tensor) { places.push_back(&tensor); }

Tensor own_copy(const Tensor& tensor, Device device, Location where) {
  const Tensor value = tensor.detach();
  Tensor copy = tensor.device() == device ? value.clone(where) : value.to(device, where);
  require_as(tensor, copy);
  return copy;
}

struct RebindVisitor::Seen {
  std::unordered_set<const Tensor*> places_of_original;
  std::unordered_map<const detail::TensorImpl*, Tensor> made;
  std::vector<Tensor> replaced;  // keeps the keys of `made` from being used again
  std::unordered_map<const void*, std::shared_ptr<void>> copies;
};

RebindVisitor::RebindVisitor(Make make, const std::vector<const Tensor*>& places_of_original)
    : make_(std::move(make)), seen_(std::make_unique<Seen>()) {
  seen_->places_of_original.insert(places_of_original.begin(), places_of_original.end());
}
RebindVisitor::~RebindVisitor() = default;

void RebindVisitor::tensor(const std::string& path, Tensor& tensor) {
  if (seen_->places_of_original.contains(&tensor)) {
    throw_error("members", fmt::format("\"{}\" is behind a pointer, which a copy of the layer shares; list the pointer "
                                       "itself, a std::shared_ptr: m(\"inner\", inner), not m(\"inner\", *inner)",
                                       path));
  }
  const auto known = seen_->made.find(tensor.impl());
  if (known != seen_->made.end()) {
    tensor = known->second;
    return;
  }
  Tensor made = make_(tensor);
  seen_->made.emplace(tensor.impl(), made);
  seen_->made.emplace(made.impl(), made);  // an object that two pointers share is visited twice
  seen_->replaced.push_back(std::exchange(tensor, std::move(made)));
}

std::shared_ptr<void> RebindVisitor::shared(std::shared_ptr<void> object, const Copy& copy) {
  const auto known = seen_->copies.find(object.get());
  if (known != seen_->copies.end()) return known->second;
  std::shared_ptr<void> made = copy();
  seen_->copies.emplace(object.get(), made);
  seen_->copies.emplace(made.get(), made);
  return made;
}

}  // namespace asyncgrad::nn::members_detail
