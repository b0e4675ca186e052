// The members of a layer, and what follows from them: parameters and their names, clones, copies on other devices, a
// summary.
//
// A layer is a copyable value that can be called with a tensor and that lists its members:
//
//   struct Scale {
//     ag::Tensor weight = ag::parameter(ag::ones({1}));
//     ag::Tensor operator()(const ag::Tensor& x) const { return x * weight; }
//     void members(ag::nn::Members& m) { m("weight", weight); }
//   };
//
// Functions and lambdas without captures need no list. Copying a layer shares its tensors, as copying a Tensor does.
// One thread at a time may use a layer in the functions of this header.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "asyncgrad/core/device.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

class Members;

// A type that lists its members or has none, as an empty class and a function.
template <class Layer>
concept Listed = requires(Layer& layer, Members& m) {
  layer.members(m);
}
|| std::is_empty_v<Layer> || (std::is_pointer_v<Layer> && std::is_function_v<std::remove_pointer_t<Layer>>);

namespace members_detail {

template <class Layer>
constexpr void check_listed() {
  static_assert(!std::is_const_v<Layer>, "a member is const here: `members` itself must not be const");
  static_assert(Listed<Layer>,
                "this layer has state, so it must name it; add a line with every tensor and inner layer: "
                "`void members(ag::nn::Members& m) { m(\"weight\", weight); }`");
}

// "Dense" for asyncgrad::nn::Dense, "function" for functions and lambdas.
std::string kind(const std::type_info& type);
template <class Layer>
std::string kind() {
  return std::is_pointer_v<Layer> ? "function" : kind(typeid(Layer));
}

}  // namespace members_detail

// Visits a layer and its members, outermost first, in the order in which they are listed.
class Members {
 public:
  class Visitor {
   public:
    virtual ~Visitor() = default;
    // Is called for a layer, before its members. `path` is "" for the outermost, "1.norm" for an inner one.
    virtual void layer(const std::string& path, const std::string& kind) = 0;
    // Is called for each member that is a defined tensor. May rebind it.
    virtual void tensor(const std::string& path, Tensor& tensor) = 0;
  };

  template <class Layer>
  static void visit(Layer& layer, Visitor& visitor) {
    Members(visitor, "").enter(layer);
  }

  // Lists a tensor: a parameter if it requires a gradient, else a buffer. Tensor{} is passed over. Throws Error if
  // `name` is empty or has a dot in it.
  void operator()(std::string_view name, Tensor& tensor);
  // Lists an inner layer. Throws as above.
  template <class Layer>
  void operator()(std::string_view name, Layer& layer) {
    Members(*visitor_, path(name)).enter(layer);
  }

 private:
  Members(Visitor& visitor, std::string path) : visitor_(&visitor), path_(std::move(path)) {}

  template <class Layer>
  void enter(Layer& layer) {
    members_detail::check_listed<Layer>();
    visitor_->layer(path_, members_detail::kind<Layer>());
    if constexpr (requires { layer.members(*this); }) layer.members(*this);
  }
  std::string path(std::string_view name) const;

  Visitor* visitor_;
  std::string path_;
};

namespace members_detail {

// Collects tensors and their paths. Throws Error if two have the same path.
class StateVisitor final : public Members::Visitor {
 public:
  void layer(const std::string&, const std::string&) override {}
  void tensor(const std::string& path, Tensor& tensor) override;
  std::vector<std::pair<std::string, Tensor>> state;
};
// Replaces each tensor by what a function makes of it. A tensor that is listed twice is replaced by one tensor.
class RebindVisitor final : public Members::Visitor {
 public:
  using Make = std::function<Tensor(const Tensor&)>;
  explicit RebindVisitor(Make make) : make_(std::move(make)) {}
  void layer(const std::string&, const std::string&) override {}
  void tensor(const std::string& path, Tensor& tensor) override;

 private:
  Make make_;
  std::vector<std::pair<Tensor, Tensor>> made_;  // each tensor that was replaced, and its replacement
};
class SummaryVisitor final : public Members::Visitor {
 public:
  void layer(const std::string& path, const std::string& kind) override;
  void tensor(const std::string& path, Tensor& tensor) override;
  std::string str() const;

 private:
  struct Row {
    std::string path, kind, shapes;
    std::int64_t parameters = 0;
  };
  void count(const Tensor& tensor);

  std::vector<Row> rows_;
  std::vector<Tensor> seen_;
  std::int64_t parameters_ = 0, buffers_ = 0, size_bytes_ = 0;
};

std::vector<Tensor> parameters_of(const StateVisitor& visitor);
// A new tensor with the same values on `device`; a parameter if `tensor` is one.
Tensor own_copy(const Tensor& tensor, Device device, Location where);

// Visits a const layer through a copy, which shares the tensors, so that nothing in the layer itself can be rebound.
template <class Layer, class Visitor>
void visit_copy(const Layer& layer, Visitor& visitor) {
  std::decay_t<Layer> copy = layer;
  Members::visit(copy, visitor);
}

template <class Layer>
std::decay_t<Layer> rebound_copy(const Layer& layer, RebindVisitor::Make make) {
  RebindVisitor visitor(std::move(make));
  std::decay_t<Layer> copy = layer;
  Members::visit(copy, visitor);
  return copy;
}

}  // namespace members_detail

// Every tensor of the layer and of the layers in it, with its path, such as "1.norm.weight", in the order of the lists.
// A tensor that two layers share appears under both paths. Does not block. Throws Error if two tensors have the same
// path.
template <class Layer>
std::vector<std::pair<std::string, Tensor>> state(const Layer& layer) {
  members_detail::StateVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return std::move(visitor.state);
}

// The tensors of `state` that require a gradient, each once: the list that an optimiser takes. Does not block. Throws
// as `state` does.
template <class Layer>
std::vector<Tensor> parameters(const Layer& layer) {
  members_detail::StateVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return members_detail::parameters_of(visitor);
}

// A copy of the layer with tensors of its own, which have the same values. Parameters stay parameters, without
// gradients. A tensor that two layers share is shared by their clones. Queues copies; may wait for room.
template <class Layer>
std::decay_t<Layer> clone(const Layer& layer, Location where = Location::current()) {
  return members_detail::rebound_copy(
      layer, [where](const Tensor& tensor) { return members_detail::own_copy(tensor, tensor.device(), where); });
}

// A clone on `device`, to be trained there: `net = ag::nn::to(net, "cuda:0")`, before an optimiser takes its
// parameters. Queues copies; may wait for room. Throws Error if there is no such device.
template <class Layer>
std::decay_t<Layer> to(const Layer& layer, Device device, Location where = Location::current()) {
  return members_detail::rebound_copy(
      layer, [=](const Tensor& tensor) { return members_detail::own_copy(tensor, device, where); });
}

// A copy on `device` for data parallelism. Each of its tensors is `to(device)` of the layer's, which is recorded, so
// the gradients of what the replica computes come back and add up in the layer's own parameters. Tensors that are on
// the device already are shared. The replica has the values that the layer has at the call: make a new one after
// parameters have changed. Queues copies; may wait for room. Throws Error if there is no such device.
template <class Layer>
std::decay_t<Layer> replica(const Layer& layer, Device device, Location where = Location::current()) {
  return members_detail::rebound_copy(layer, [=](const Tensor& tensor) { return tensor.to(device, where); });
}

// A table as text. Each layer has a line with its path, kind, the shapes of its tensors (buffers in brackets) and its
// number of parameters. The totals at the end count a shared tensor once. Does not block.
template <class Layer>
std::string summary(const Layer& layer) {
  members_detail::SummaryVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return visitor.str();
}

}  // namespace asyncgrad::nn
