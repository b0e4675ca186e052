// A layer that calls layers one after the other.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "asyncgrad/core/error.h"
#include "asyncgrad/nn/members.h"

namespace asyncgrad::nn {

// A list of layers of any types, which is itself a layer: `Sequential net{Dense(64, 128, relu), Dense(128, 10)}`. A
// copy has a list of its own, whose layers share their tensors with the original. `Sequential b{a}` is therefore a
// copy; to nest `a` as the only layer of `b`, call `b.add(a)`.
//
// Errors of the operations inside name the layer's path, such as "1.body.0". A Sequential that has no place in a network
// yet, because nothing has gone through the network's members, adds its layers: "1 of Sequential{Dense, function}".
// Several threads may call a const Sequential at once, if its layers allow that.
class Sequential {
 public:
  Sequential() = default;
  // NOLINTBEGIN(google-explicit-constructor): explicit for a single argument
  template <class... Layers>
  requires(sizeof...(Layers) > 0 &&
           !(sizeof...(Layers) == 1 && (std::derived_from<std::remove_cvref_t<Layers>, Sequential> &&
                                        ...))) explicit(sizeof...(Layers) == 1) Sequential(Layers&&... layers) {
    (add(std::forward<Layers>(layers)), ...);
  }
  // NOLINTEND(google-explicit-constructor)
  Sequential(const Sequential& other);
  Sequential(Sequential&&) noexcept = default;
  Sequential& operator=(Sequential other) noexcept;
  ~Sequential() = default;

  // Appends a copy of a layer: anything that can be called with a tensor, returns one, and lists its members
  // (members.h). Throws Error for a null function, and for Sequentials nested deeper than Members::max_depth.
  template <class Layer>
  Sequential& add(Layer layer) {
    static_assert(std::is_invocable_r_v<Tensor, const Layer&, const Arg&>,
                  "a layer is called with a tensor and returns one: `Tensor operator()(const Tensor& x) const`");
    members_detail::check_listed<Layer>();
    if constexpr (std::is_pointer_v<Layer>) {
      if (layer == nullptr) throw_null();
    }
    if constexpr (std::derived_from<Layer, Sequential>) nest(layer);
    layers_.push_back(std::make_unique<Held<Layer>>(std::move(layer)));
    layers_.back()->report_paths();
    return *this;
  }

  std::size_t size() const { return layers_.size(); }

  // The layer at `index`, counted from 0. Throws Error if there is none, or if its type is not Layer. Functions have
  // the type Activation.
  template <class Layer>
  Layer& at(std::size_t index, Location where = Location::current()) {
    return *static_cast<Layer*>(checked(index, typeid(Layer), where).value());
  }
  template <class Layer>
  const Layer& at(std::size_t index, Location where = Location::current()) const {
    return *static_cast<const Layer*>(checked(index, typeid(Layer), where).value());
  }

  // Calls the first layer with x, each other layer with the result of the one before it, and returns the last result; x
  // itself if there is no layer. Blocks and throws as the layers do.
  Tensor operator()(const Arg& x) const;
  void members(Members& m);  // the layers, named "0", "1", ...

 private:
  // The interface of a layer of any type.
  class Any {
   public:
    virtual ~Any() = default;
    virtual std::unique_ptr<Any> copy() const = 0;
    virtual Tensor call(const Arg& x) const = 0;
    virtual void name_in(Members& m, const std::string& name) = 0;
    virtual void report_paths() = 0;
    virtual const std::type_info& type() const = 0;
    virtual std::string kind() const = 0;
    virtual void* value() = 0;
  };
  template <class Layer>
  class Held final : public Any {
   public:
    explicit Held(Layer layer) : layer_(std::move(layer)) {}
    std::unique_ptr<Any> copy() const override { return std::make_unique<Held>(layer_); }
    Tensor call(const Arg& x) const override { return layer_(x); }
    void name_in(Members& m, const std::string& name) override { m(name, layer_); }
    void report_paths() override {
      members_detail::PathVisitor visitor;
      try {
        Members::visit(layer_, visitor);
      } catch (const Error&) {  // the functions that need the list say what is wrong with it
      }
    }
    const std::type_info& type() const override { return typeid(Layer); }
    std::string kind() const override { return members_detail::kind<Layer>(); }
    void* value() override { return &layer_; }

   private:
    Layer layer_;
  };

  [[noreturn]] void throw_null() const;
  void nest(const Sequential& inner);
  Any& checked(std::size_t index, const std::type_info& wanted, const Location& where) const;
  std::string kinds() const;
  Tensor call(std::size_t index, const Arg& x) const;

  std::vector<std::unique_ptr<Any>> layers_;
  // Within the layer of the outer Sequential, or in the outermost layer: "body". Not known until something has gone
  // through the members of the layer that it is in.
  mutable std::string path_ = members_detail::unknown_path;
  int depth_ = 0;  // of the Sequentials inside
};

}  // namespace asyncgrad::nn
