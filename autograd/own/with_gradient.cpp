#include <fmt/format.h>

#include "asyncgrad/autograd/own/own_gradients.h"
#include "asyncgrad/autograd/tape/operands.h"
#include "asyncgrad/autograd/tape/operation_node.h"
#include "asyncgrad/autograd/with_gradient.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/origin/kept_name.h"

namespace asyncgrad {

namespace {

using namespace detail;

struct TypeAndDevice {
  DType dtype;
  Device device;
};

// A saved tensor, and its part in the operation.
struct Saved {
  static constexpr int constant = -1, value = -2;  // else the input of that number
  SavedTensor tensor;
  int place = constant;

  const Tensor& read(const Gradients& gradients) const {
    if (place == constant) return gradients.read(tensor);
    return place == value ? gradients.read_result(tensor) : gradients.read_input(tensor, place);
  }
};

class Call final : public GradientCall {
 public:
  Call(const char* name, const Tensor& dy, const Gradients& gradients, const std::vector<Saved>& saved)
      : name_(name), dy_(dy), gradients_(gradients), saved_(saved) {}
  const Tensor& dy() const override { return dy_; }
  bool wants(int i) const override { return gradients_.wants(i); }
  const Tensor& saved(int i) const override {
    if (i < 0 || static_cast<std::size_t>(i) >= saved_.size()) {
      throw_error(name_, fmt::format("saved tensor {} was asked for, of {} numbered from 0", i, saved_.size()));
    }
    return saved_[static_cast<std::size_t>(i)].read(gradients_);
  }

 private:
  const char* name_;
  const Tensor& dy_;
  const Gradients& gradients_;
  const std::vector<Saved>& saved_;
};

class Backward {
 public:
  Backward(const char* name, GradientFunction function, std::span<const Tensor> inputs, std::vector<Saved> saved)
      : name_(name), function_(std::move(function)), saved_(std::move(saved)) {
    for (const Tensor& input : inputs) inputs_.push_back({input.dtype(), input.device()});
  }

  const GradientFunction& function() const { return function_; }

  void operator()(const Tensor& dy, Gradients& gradients) const {
    const std::uint32_t version = dy.impl()->storage->version;
    std::vector<Tensor> results = function_(Call(name_, dy, gradients, saved_));
    if (dy.impl()->storage->version != version) {
      throw_error(name_,
                  "the gradient function has written into dy, which may be the gradient of others, too; dy * 2 is a "
                  "tensor of its own");
    }
    if (results.size() != inputs_.size()) {
      throw_error(name_,
                  fmt::format("the gradient function returned {} gradients for {} inputs; each input needs one, which "
                              "may be empty",
                              results.size(), inputs_.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const int input = static_cast<int>(i);
      if (!results[i].defined() || !gradients.wants(input)) continue;
      check(input, results[i], gradients.shape(input));
      // The function may have recorded although nobody has asked for gradients of gradients.
      if (!gradients.are_recorded() && results[i].requires_grad()) results[i] = results[i].detach();
      gradients(input, [&] { return std::move(results[i]); });
    }
  }

 private:
  void check(int input, const Tensor& gradient, const Shape& shape) const {
    if (gradient.shape() != shape) {
      throw_error(name_,
                  fmt::format("the gradient of input {} has the shape {}, the input {}; both are to have one shape",
                              input, gradient.shape().str(), shape.str()));
    }
    const TypeAndDevice& wanted = inputs_[static_cast<std::size_t>(input)];
    if (gradient.dtype() == wanted.dtype && gradient.device() == wanted.device) return;
    throw_error(name_,
                fmt::format("the gradient of input {} is {} on {}, the input {} on {}", input, name(gradient.dtype()),
                            gradient.device().str(), name(wanted.dtype), wanted.device.str()));
  }

  const char* name_;
  GradientFunction function_;
  std::vector<TypeAndDevice> inputs_;
  std::vector<Saved> saved_;
};

bool are_same_values(const Tensor& a, const Tensor& b) {
  const TensorImpl &x = *a.impl(), &y = *b.impl();
  return x.storage == y.storage && x.offset_bytes == y.offset_bytes && x.shape == y.shape;
}

Saved saved_as(const Tensor& tensor, const Tensor& value, std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tensor.impl() == inputs[i].impl()) return {SavedTensor(tensor), static_cast<int>(i)};
  }
  return {SavedTensor(tensor), are_same_values(tensor, value) ? Saved::value : Saved::constant};
}

void check_constant(const char* name, std::size_t i, const Tensor& tensor) {
  if (!has_history(tensor)) return;
  throw_error(name,
              fmt::format("saved tensor {} {} has a history, but is no input and not the value, so that gradients "
                          "of the gradient would miss it",
                          i, tensor.shape().str()));
}

}  // namespace

Tensor with_gradient(std::string_view name, const Tensor& value, TensorList input_list, GradientFunction backward,
                     TensorList saved_list, GradientOrder order, Location where) {
  const CallSite site(where);
  const std::span inputs = input_list.all(), saved = saved_list.all();
  const char* const kept = kept_name("with_gradient", name);
  const TensorImpl& impl = checked_operand(value, kept);
  if (backward == nullptr) throw_error(kept, "there is no gradient function: backward is null");
  check_floating(kept, {"value", impl});
  bool is_recorded = false;
  for (const Tensor& input : inputs) {
    checked_operand(input, kept);
    is_recorded |= has_history(input);
  }
  std::vector<Saved> kept_values;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    checked_operand(saved[i], kept);
    kept_values.push_back(saved_as(saved[i], value, inputs));
    if (order == GradientOrder::any && kept_values.back().place == Saved::constant) check_constant(kept, i, saved[i]);
  }
  Tensor result = make_view(value, impl.shape);
  if (!is_recorded || !grad_enabled()) return result;
  Backward function(kept, std::move(backward), inputs, std::move(kept_values));
  if (order == GradientOrder::any) {
    record(kept, where, result, inputs, differentiable(std::move(function)));
  } else {
    record(kept, where, result, inputs, std::move(function));
  }
  return result;
}

namespace detail {

const GradientFunction* own_gradient_of(const Node& node) {
  const auto* const own = dynamic_cast<const OperationNode<Backward>*>(&node);
  return own != nullptr && own->is_intact() ? &own->function().function() : nullptr;
}

std::vector<OwnFunction> own_functions_below(const Tensor& tensor) {
  std::vector<OwnFunction> found;
  std::vector<const Node*> left;
  const auto visit = [&left](const Node* node) {
    if (node != nullptr && node->has_one_owner() && !node->is_leaf()) left.push_back(node);
  };
  if (tensor.impl()->references.load(std::memory_order_relaxed) == 1) visit(tensor.impl()->node);
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    const OwnFunction own{.gradient = own_gradient_of(*node), .recomputed = recomputed_function_of(*node)};
    if (own.gradient != nullptr || own.recomputed != nullptr) found.push_back(own);
    for (int i = 0; i < node->input_count(); ++i) visit(node->input(i));
  }
  return found;
}

}  // namespace detail

}  // namespace asyncgrad
