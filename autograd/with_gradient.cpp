#include <fmt/format.h>

#include "asyncgrad/autograd/custom.h"
#include "asyncgrad/autograd/operands.h"
#include "asyncgrad/core/error.h"
#include "asyncgrad/core/origin/kept_name.h"

namespace asyncgrad {

namespace {

using namespace detail;

struct TypeAndDevice {
  DType dtype;
  Device device;
};

class Call final : public GradientCall {
 public:
  Call(const char* name, const Tensor& dy, const Gradients& gradients, const std::vector<SavedTensor>& saved)
      : name_(name), dy_(dy), gradients_(gradients), saved_(saved) {}
  const Tensor& dy() const override { return dy_; }
  bool wants(int i) const override { return gradients_.wants(i); }
  const Tensor& saved(int i) const override {
    if (i < 0 || static_cast<std::size_t>(i) >= saved_.size()) {
      throw_error(name_, fmt::format("saved tensor {} was asked for, of {}", i, saved_.size()));
    }
    return gradients_.read(saved_[static_cast<std::size_t>(i)]);
  }

 private:
  const char* name_;
  const Tensor& dy_;
  const Gradients& gradients_;
  const std::vector<SavedTensor>& saved_;
};

class Backward {
 public:
  Backward(const char* name, GradientFunction function, const std::vector<Tensor>& inputs,
           const std::vector<Tensor>& saved)
      : name_(name), function_(std::move(function)) {
    for (const Tensor& input : inputs) inputs_.push_back({input.dtype(), input.device()});
    for (const Tensor& tensor : saved) saved_.emplace_back(tensor);
  }

  void operator()(const Tensor& dy, Gradients& gradients) const {
    std::vector<Tensor> results = function_(Call(name_, dy, gradients, saved_));
    if (results.size() != inputs_.size()) {
      throw_error(name_, fmt::format("the gradient function returned {} gradients for {} inputs", results.size(),
                                     inputs_.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const int input = static_cast<int>(i);
      if (!results[i].defined() || !gradients.wants(input)) continue;
      check(input, results[i], gradients.shape(input));
      gradients(input, [&] { return std::move(results[i]); });
    }
  }

 private:
  void check(int input, const Tensor& gradient, const Shape& shape) const {
    if (gradient.shape() != shape) {
      throw_error(name_, fmt::format("the gradient of input {} has the shape {}, the input {}", input,
                                     gradient.shape().str(), shape.str()));
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
  std::vector<SavedTensor> saved_;
};

}  // namespace

Tensor with_gradient(std::string_view name, const Tensor& value, const std::vector<Tensor>& inputs,
                     GradientFunction backward, const std::vector<Tensor>& saved, Location where) {
  const char* const kept = kept_name("with_gradient", name);
  const TensorImpl& impl = checked_operand(value, kept);
  if (backward == nullptr) throw_error(kept, "there is no gradient function");
  check_floating(kept, {"value", impl});
  bool is_recorded = false;
  for (const Tensor& input : inputs) {
    checked_operand(input, kept);
    is_recorded |= has_history(input);
  }
  for (const Tensor& tensor : saved) checked_operand(tensor, kept);
  Tensor result = make_view(value, impl.shape);
  if (is_recorded && grad_enabled())
    record(kept, where, result, inputs, Backward(kept, std::move(backward), inputs, saved));
  return result;
}

}  // namespace asyncgrad
