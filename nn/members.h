// What a layer consists of, and what follows from that: its parameters, their names, copies of its own and on other
// devices, a summary.
//
// A layer is a copyable value that is called with a tensor, and that names what it consists of:
//
//   struct Scale {
//     ag::Tensor weight = ag::parameter(ag::ones({1}));
//     ag::Tensor operator()(const ag::Tensor& x) const { return x * weight; }
//     void members(ag::nn::Members& m) { m("weight", weight); }
//   };
//
// Functions and lambdas without captures need no list. Copying a layer shares its tensors, as copying a Tensor does.
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

// A type that names its members, or that has none: an empty class, a function.
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

// Goes through a layer's members, outermost first, in the order in which they are named.
class Members {
 public:
  class Visitor {
   public:
    virtual ~Visitor() = default;
    // A layer, before its members. `path` is "" for the outermost, else "1.norm".
    virtual void layer(const std::string& path, const std::string& kind) = 0;
    // A defined tensor of the layer visited last that is around it. May rebind it.
    virtual void tensor(const std::string& path, Tensor& tensor) = 0;
  };

  template <class Layer>
  static void visit(Layer& layer, Visitor& visitor) {
    Members(visitor, "").enter(layer);
  }

  // A parameter (it requires a gradient) or a buffer (it does not). One that holds nothing is passed over. Throws Error
  // if `name` is empty or has a dot in it.
  void operator()(std::string_view name, Tensor& tensor);
  // An inner layer. Throws as above.
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

// Each collects from one visit. Throw Error if two members of one layer have the same name.
class StateVisitor final : public Members::Visitor {
 public:
  void layer(const std::string&, const std::string&) override {}
  void tensor(const std::string& path, Tensor& tensor) override;
  std::vector<std::pair<std::string, Tensor>> state;
};
// Puts in each tensor's place what a function makes of it; a tensor that is named twice stays one tensor.
class RebindVisitor final : public Members::Visitor {
 public:
  using Make = std::function<Tensor(const Tensor&)>;
  explicit RebindVisitor(Make make) : make_(std::move(make)) {}
  void layer(const std::string&, const std::string&) override {}
  void tensor(const std::string& path, Tensor& tensor) override;

 private:
  Make make_;
  std::vector<std::pair<Tensor, Tensor>> made_;  // of which tensor, what
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
// The tensor's values in one of its own on `device`; a parameter if it is one.
Tensor own_copy(const Tensor& tensor, Device device, Location where);

// A const layer is visited through a copy: it shares the tensors, and nothing can be rebound in the layer itself.
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

// Every tensor of the layer and the layers in it, with its path, like "1.norm.weight", in the order of the lists.
// A tensor that is shared by two layers appears under both paths. Throws Error if two members have the same path.
template <class Layer>
std::vector<std::pair<std::string, Tensor>> state(const Layer& layer) {
  members_detail::StateVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return std::move(visitor.state);
}

// The tensors of `state` that require a gradient, each once: what an optimiser takes. Throws as `state` does.
template <class Layer>
std::vector<Tensor> parameters(const Layer& layer) {
  members_detail::StateVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return members_detail::parameters_of(visitor);
}

// A copy with tensors of its own, holding the same values; parameters are parameters again, without gradients. A tensor
// that is shared by two layers is shared by their clones. Queues copies; may wait for room.
template <class Layer>
std::decay_t<Layer> clone(const Layer& layer, Location where = Location::current()) {
  return members_detail::rebound_copy(
      layer, [where](const Tensor& tensor) { return members_detail::own_copy(tensor, tensor.device(), where); });
}

// The same on `device`: a copy to be trained there, `net = ag::nn::to(net, "cuda:0")` say, before an optimiser takes
// its parameters. Throws Error if there is no such device.
template <class Layer>
std::decay_t<Layer> to(const Layer& layer, Device device, Location where = Location::current()) {
  return members_detail::rebound_copy(
      layer, [=](const Tensor& tensor) { return members_detail::own_copy(tensor, device, where); });
}

// What computes as the layer does, on `device`, for data parallelism: each tensor is `to(device)` of the layer's, which
// is recorded, so the gradients of what the replica computes come back and add up in the layer's own parameters.
// Tensors that are there already are shared. It has the values of the call: take a new one once parameters have
// changed. Queues copies; may wait for room. Throws Error if there is no such device.
template <class Layer>
std::decay_t<Layer> replica(const Layer& layer, Device device, Location where = Location::current()) {
  return members_detail::rebound_copy(layer, [=](const Tensor& tensor) { return tensor.to(device, where); });
}

// A table as text: a layer a line with its path, kind, the shapes of its tensors (buffers in brackets) and its number
// of parameters; then the totals, where a shared tensor counts once.
template <class Layer>
std::string summary(const Layer& layer) {
  members_detail::SummaryVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return visitor.str();
}

}  // namespace asyncgrad::nn
