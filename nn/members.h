// The members of a layer: its parameters and their names. Clones (clone.h) and summaries (summary.h) follow from them,
// too.
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
// One thread at a time may use a layer in the functions of these headers.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "asyncgrad/core/call_site.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/random.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::nn {

class Members;

// A type that lists its members or has none, such as an empty class or a function.
template <class Layer>
concept Listed = requires(Layer& layer, Members& m) {
  layer.members(m);
}
|| std::is_empty_v<Layer> || (std::is_pointer_v<Layer> && std::is_function_v<std::remove_pointer_t<Layer>>);

// A value that a layer or an optimiser may list beside tensors: a count, a rate, a text, the place of random numbers. A
// checkpoint keeps them; they are not among the tensors of `state`.
using Value = std::variant<std::int64_t*, int*, bool*, double*, std::string*, Generator*>;

namespace members_detail {

// Whether T* is one of Value's types. Asking Value itself for the type of each member would take long to compile.
template <class T, class OneOf = Value>
inline constexpr bool is_value = false;
template <class T, class... Pointers>
inline constexpr bool is_value<T, std::variant<Pointers...>> = (std::is_same_v<T*, Pointers> || ...);

template <class Layer>
constexpr void check_listed() {
  static_assert(!std::is_const_v<Layer>, "a member is const here: `members` itself must not be const");
  static_assert(!std::is_arithmetic_v<Layer>, "a number among members is an int, a std::int64_t, a double or a bool");
  static_assert(
      Listed<Layer>,
      "this layer has state, so it must name it; add a line with every tensor and inner layer: "
      "`void members(ag::nn::Members& m) { m(\"weight\", weight); }`, which is public; a lambda with captures goes "
      "into an ag::nn::Function");
}

// "Dense" for asyncgrad::nn::Dense, "function" for functions and lambdas.
std::string kind(const std::type_info& type);
template <class Layer>
std::string kind() {
  return std::is_pointer_v<Layer> ? "function" : kind(typeid(Layer));
}
// A layer that stands for another one, such as an object of another language, has a function layer_kind().
template <class Layer>
std::string kind_of(const Layer& layer) {
  if constexpr (requires { layer.layer_kind(); }) {
    return layer.layer_kind();
  } else {
    static_cast<void>(layer);
    return kind<Layer>();
  }
}

}  // namespace members_detail

// Visits a layer and its members, outermost first, in the order in which they are listed.
class Members {
 public:
  // The maximum depth of nested layers.
  static constexpr int max_depth = 1000;

  class Visitor {
   public:
    virtual ~Visitor() = default;
    // Called for a layer, before its members, and for a list of members. `path` is "" for the outermost, "1.norm" for
    // an inner one.
    virtual void layer(const std::string& path, const std::string& kind);
    // Called for each member that is a defined tensor. May rebind it.
    virtual void tensor(const std::string& path, Tensor& tensor) = 0;
    // Called for each member that is Tensor{}, such as the bias of a layer without one. May bind it.
    virtual void undefined(const std::string& path, Tensor& tensor);
    // Called for each member that is a value. May assign to it.
    virtual void value(const std::string& path, Value value);
    // Called for each that is listed by not_negative(). Calls value().
    virtual void not_negative(const std::string& path, Value value);
    // Called for each container that names its layers in errors, such as Sequential, with the place where it keeps its
    // own path.
    virtual void container(const std::string& path, std::string& kept_path);
    // Called for each object behind a shared pointer. Returns the object that is visited, and to which the pointer
    // leads from now on: `object` itself or what `copy` makes of it.
    using Copy = std::function<std::shared_ptr<void>()>;
    virtual std::shared_ptr<void> shared(std::shared_ptr<void> object, const Copy& copy);
  };

  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members();

  // Throws Error if layers are nested deeper than max_depth, and as listing does.
  template <class Layer>
  static void visit(Layer& layer, Visitor& visitor) {
    Members(visitor, "", 0).enter(layer);
  }

  // Lists a member, which is
  //   - a tensor: a parameter if it requires a gradient, or did before it was frozen, else a buffer; Tensor{} is passed
  //     over;
  //   - an inner layer;
  //   - a value: std::int64_t, int, bool, double, std::string, Generator;
  //   - a std::vector or std::array of members, whose names are "0", "1", ...;
  //   - a std::optional or std::shared_ptr of a member; an empty one is passed over. List the pointer itself, so that a
  //     clone gets an object of its own: m("inner", inner), not m("inner", *inner).
  // Throws Error if `name` is empty or has a dot in it, and if another member of this layer has the same name.
  template <class Member>
  void operator()(std::string_view name, Member& member, Location where = Location::current()) {
    list(path(name, where), member);
  }

  // Lists a number, or a std::vector of numbers, that must be finite and not negative, such as a count or a rate. A
  // Checkpoint whose file has another one for it is not loaded. Throws as above.
  template <class Number>
  void not_negative(std::string_view name, Number& number, Location where = Location::current()) {
    list_not_negative(path(name, where), number);
  }

  // The path of the layer that lists, "" for the outermost.
  const std::string& layer_path() const { return path_; }

  // For a container that makes a LayerScope for each of its layers. `path` is the member in which it keeps its own path
  // within the layer of the outer Sequential.
  void keep_path(std::string& path) { visitor_->container(path_, path); }

 private:
  Members(Visitor& visitor, std::string path, int depth);

  void list(const std::string& path, Tensor& tensor);
  template <class T>
  requires members_detail::is_value<T>
  void list(const std::string& path, T& value) { visitor_->value(path, &value); }
  template <class T>
  requires std::same_as<T, double> || std::signed_integral<T>
  void list_not_negative(const std::string& path, T& number) { visitor_->not_negative(path, &number); }
  template <class T, class Allocator>
  void list_not_negative(const std::string& path, std::vector<T, Allocator>& numbers) {
    list_each(path, numbers,
              [](Members& each, const std::string& name, T& number) { each.not_negative(name, number); });
  }
  template <class T, class Allocator>
  void list(const std::string& path, std::vector<T, Allocator>& members) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements of type bool");
    list_each(path, members);
  }
  template <class T, std::size_t size>
  void list(const std::string& path, std::array<T, size>& members) {
    list_each(path, members);
  }
  template <class T>
  void list(const std::string& path, std::optional<T>& member) {
    if (member.has_value()) list(path, *member);
  }
  template <class T>
  void list(const std::string& path, std::shared_ptr<T>& pointer);
  template <class Layer>
  void list(const std::string& path, Layer& layer) {
    Members(*visitor_, path, depth_ + 1).enter(layer);
  }

  template <class Range>
  void list_each(const std::string& path, Range& members) {
    list_each(path, members, [](Members& each, const std::string& name, auto& member) { each(name, member); });
  }
  template <class Range, class ListOne>
  void list_each(const std::string& path, Range& members, ListOne list_one) {
    visitor_->layer(path, "list");
    Members each(*visitor_, path, depth_ + 1);
    std::size_t index = 0;
    for (auto& member : members) list_one(each, std::to_string(index++), member);
  }
  template <class Layer>
  void enter(Layer& layer) {
    members_detail::check_listed<Layer>();
    visitor_->layer(path_, members_detail::kind_of(layer));
    if constexpr (requires { layer.members(*this); }) layer.members(*this);
  }
  std::string path(std::string_view name, const Location& where);
  [[noreturn]] static void throw_not_copyable(const std::string& path, const std::type_info& type);

  Visitor* visitor_;
  std::string path_;
  int depth_;
  struct Names;
  std::unique_ptr<Names> names_;  // null: none yet
};

template <class T>
void Members::list(const std::string& path, std::shared_ptr<T>& pointer) {
  static_assert(!std::is_const_v<T>, "a const member behind a pointer cannot be loaded or cloned");
  if (pointer == nullptr) return;
  const auto copy = [&]() -> std::shared_ptr<void> {
    T& object = *pointer;
    if constexpr (std::is_copy_constructible_v<T>) {
      if (typeid(object) == typeid(T)) return std::make_shared<T>(object);
    }
    throw_not_copyable(path, typeid(object));
  };
  std::shared_ptr<void> object = visitor_->shared(pointer, copy);
  if (object.get() != pointer.get()) pointer = std::static_pointer_cast<T>(std::move(object));
  // The depth continues within the object, because pointers may lead in a circle.
  Members(*visitor_, path, depth_ + 1).list(path, *pointer);
}

namespace members_detail {

// Collects tensors and their paths.
class StateVisitor final : public Members::Visitor {
 public:
  void tensor(const std::string& path, Tensor& tensor) override;
  std::vector<std::pair<std::string, Tensor>> state;
};
// The path that a container begins with.
inline constexpr const char* unknown_path = "?";

// Sets the paths of the outermost containers in a layer.
class PathVisitor final : public Members::Visitor {
 public:
  void tensor(const std::string&, Tensor&) override {}
  void container(const std::string& path, std::string& kept_path) override;

 private:
  std::vector<std::string> reported_;
};
std::vector<Tensor> parameters_of(const StateVisitor& visitor);

// Visits a const layer through a copy, which shares the tensors, so that nothing in the layer itself can be rebound.
// The paths of its containers are set, which only errors show.
template <class Layer, class Visitor>
void visit_copy(const Layer& layer, Visitor& visitor) {
  std::decay_t<Layer> copy = layer;
  Members::visit(copy, visitor);
  if constexpr (std::is_class_v<Layer>) {
    PathVisitor paths;
    Members::visit(const_cast<Layer&>(layer), paths);
  }
}

}  // namespace members_detail

// Every tensor of the layer and of the layers in it, with its path, such as "1.norm.weight", in the order of the lists.
// A tensor that two layers share appears under both paths. Does not block. Throws Error for lists that Members refuses,
// as all functions of these headers do.
template <class Layer>
std::vector<std::pair<std::string, Tensor>> state(const Layer& layer, Location where = Location::current()) {
  const CallSite site(where);
  members_detail::StateVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return std::move(visitor.state);
}

// The tensors of `state` that require a gradient, or did before requires_grad_(false) froze them, each once: the list
// that an optimiser takes. Does not block.
template <class Layer>
std::vector<Tensor> parameters(const Layer& layer, Location where = Location::current()) {
  const CallSite site(where);
  members_detail::StateVisitor visitor;
  members_detail::visit_copy(layer, visitor);
  return members_detail::parameters_of(visitor);
}

}  // namespace asyncgrad::nn
