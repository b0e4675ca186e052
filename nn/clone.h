// Copies of layers with tensors of their own: clones, also on other devices, and replicas for data parallelism.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/device.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

namespace members_detail {

// Collects where members are.
class PlaceVisitor final : public Members::Visitor {
 public:
  void tensor(const std::string& path, Tensor& tensor) override;
  std::vector<const Tensor*> places;
};
// Replaces each tensor of a copy by what a function makes of it, and each object behind a shared pointer by a copy.
// A tensor or object that is listed twice is replaced once. Throws Error if a tensor is at a place of the original.
class RebindVisitor final : public Members::Visitor {
 public:
  using Make = std::function<Tensor(const Tensor&)>;
  RebindVisitor(Make make, const std::vector<const Tensor*>& places_of_original);
  RebindVisitor(const RebindVisitor&) = delete;
  RebindVisitor& operator=(const RebindVisitor&) = delete;
  ~RebindVisitor() override;
  void tensor(const std::string& path, Tensor& tensor) override;
  std::shared_ptr<void> shared(std::shared_ptr<void> object, const Copy& copy) override;

 private:
  struct Seen;
  Make make_;
  std::unique_ptr<Seen> seen_;
};

// A new tensor with the same values on `device`; a parameter if `tensor` is one.
Tensor own_copy(const Tensor& tensor, Device device, Location where);

template <class Layer>
std::decay_t<Layer> rebound_copy(const Layer& layer, RebindVisitor::Make make) {
  // An object that two copies have at the same place is not in the copies, but behind a pointer in the original.
  std::decay_t<Layer> copy = layer, other = layer;
  PlaceVisitor original;
  Members::visit(other, original);
  RebindVisitor visitor(std::move(make), original.places);
  Members::visit(copy, visitor);
  return copy;
}

}  // namespace members_detail

// A copy of the layer with tensors of its own, which have the same values. Parameters stay parameters, without
// gradients. A tensor or a std::shared_ptr that two layers share is shared by their clones. Queues copies; may wait for
// room. Throws Error for a tensor behind a pointer that is not listed itself, and for an object of a derived class
// behind a std::shared_ptr of its base. The same holds for `to` and `replica`.
template <class Layer>
std::decay_t<Layer> clone(const Layer& layer, Location where = Location::current()) {
  const CallSite site(where);
  return members_detail::rebound_copy(
      layer, [where](const Tensor& tensor) { return members_detail::own_copy(tensor, tensor.device(), where); });
}

// A clone on `device`, to be trained there: `net = ag::nn::to(net, "cuda:0")`, before an optimiser takes its
// parameters. Queues copies; may wait for room. Throws Error if there is no such device.
template <class Layer>
std::decay_t<Layer> to(const Layer& layer, Device device, Location where = Location::current()) {
  const CallSite site(where);
  return members_detail::rebound_copy(
      layer, [=](const Tensor& tensor) { return members_detail::own_copy(tensor, device, where); });
}

// A copy on `device` for data parallelism. Each of its tensors is `to(device)` of the layer's, which is recorded, so
// the gradients of what the replica computes come back and add up in the layer's own parameters. Tensors that are on
// the device already are shared. The replica has the values that the layer has at the call: make a new one after
// parameters have changed. Values that the replica's calls write into its buffers, such as BatchNorm's running
// statistics, stay in the replica: the layer's own buffers have the statistics of the batches that the layer itself
// sees. Queues copies; may wait for room. Throws Error if there is no such device.
template <class Layer>
std::decay_t<Layer> replica(const Layer& layer, Device device, Location where = Location::current()) {
  const CallSite site(where);
  return members_detail::rebound_copy(layer, [=](const Tensor& tensor) { return tensor.to(device, where); });
}

}  // namespace asyncgrad::nn
