// Operations of the program's own: a gradient in Python, and functions over NumPy views that run as operations.

#include <memory>

#include "arrays.h"
#include "asyncgrad/autograd/own/own_gradients.h"
#include "asyncgrad/core/wait_hooks.h"
#include "call.h"
#include "callbacks.h"
#include "conversion.h"
#include "custom.h"
#include "dtypes.h"
#include "errors.h"
#include "module.h"
#include "python_object.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

// The function gets arrays of NumPy.
void check_numpy_has(DType dtype) {
  if (dtype == bfloat16) throw_type_error("NumPy has no bfloat16; convert the tensor with to(\"float32\")");
}

std::vector<CustomOutput> outputs_from(nb::handle list) {
  std::vector<CustomOutput> outputs;
  for (const nb::handle row : list) {
    outputs.push_back({.shape = shape_from(row[0]), .dtype = dtype_from(row[1])});
    check_numpy_has(outputs.back().dtype);
  }
  return outputs;
}

template <class Elements>
nb::object view(Elements elements, DType dtype, const Shape& shape, bool writable) {
  return numpy_view(const_cast<void*>(static_cast<const void*>(elements.data())), dtype, shape, nb::none(), writable);
}

}  // namespace

nb::list output_views(const CustomCall& call, int count) {
  nb::list views;
  for (int i = 0; i < count; ++i) {
    detail::visit_dtype(call.output_dtype(i), [&](auto zero) {
      views.append(view(call.output<decltype(zero)>(i), call.output_dtype(i), call.output_shape(i), true));
    });
  }
  return views;
}

namespace {

// Calls the function with views of the inputs and outputs, which are valid until it returns.
void call_with_views(PythonCallback::Kind kind, const HeldObject& function, const CustomCall& call, int inputs,
                     int outputs, const char* name) {
  const PythonCallback callback(kind);
  if (!callback.may_run())
    throw Dropped(std::string("[") + name + "] the interpreter has ended before it was computed");
  try {
    nb::list arguments = output_views(call, outputs);
    for (int i = 0; i < inputs; ++i) {
      detail::visit_dtype(call.input_dtype(i), [&](auto zero) {
        arguments.append(view(call.input<decltype(zero)>(i), call.input_dtype(i), call.input_shape(i), false));
      });
    }
    const nb::object result = nb::steal(call_python(function.get(), nb::tuple(arguments)));
    if (!result.is_valid()) throw_callback_error(name);
  } catch (nb::python_error& error) {
    error.restore();
    throw_callback_error(name);
  }
}

// Never at the call: that would be under the engine's lock.
constexpr std::int64_t too_long_for_a_call = std::int64_t{1} << 40;

TensorObjects custom_operation(const std::string& name, nb::handle outputs, nb::handle inputs, nb::object function) {
  std::vector<Tensor> operands = tensors_from(inputs);
  for (const Tensor& operand : operands) check_numpy_has(operand.dtype());
  const Call call(nb::len(inputs) > 0 ? nb::object(inputs[0]) : nb::object(nb::none()));
  const std::vector<CustomOutput> made = outputs_from(outputs);
  const auto kernel = [held = HeldObject(std::move(function)), name, inputs_count = static_cast<int>(operands.size()),
                       outputs_count = static_cast<int>(made.size())](const CustomCall& view) {
    call_with_views(PythonCallback::Kind::operation, held, view, inputs_count, outputs_count, name.c_str());
  };
  const QueuesCallback queues;
  return call.results(custom_many(name, made, operands, kernel,
                                  {.cost = too_long_for_a_call, .device = default_device()}, call.where()));
}

TensorObjects source_operation(const std::string& name, nb::handle outputs, nb::object function) {
  const Call call(tensor_type);
  const std::vector<CustomOutput> made = outputs_from(outputs);
  const auto kernel = [held = HeldObject(std::move(function)), name,
                       count = static_cast<int>(made.size())](const CustomCall& view) {
    call_with_views(PythonCallback::Kind::source, held, view, 0, count, name.c_str());
  };
  const QueuesCallback queues;
  return call.results(source_many(name, made, kernel, default_device(), call.where()));
}

// A function of the program for tensors of a class.
struct OwnFunction {
  HeldObject function, type;

  nb::object result_for(std::span<const Tensor> tensors) const {
    auto* const of = reinterpret_cast<PyTypeObject*>(type.get().ptr());
    nb::list arguments;
    for (const Tensor& tensor : tensors) arguments.append(nb::steal(new_object(Tensor(tensor), of)));
    nb::object result = nb::steal(call_python(function.get(), nb::tuple(arguments)));
    if (!result.is_valid()) throw nb::python_error();
    return result;
  }
};

// A gradient that a function of the program computes.
struct OwnGradient : OwnFunction {
  int saved = 0;

  std::vector<Tensor> operator()(const GradientCall& call) const {
    std::vector<Tensor> arguments{call.dy()};
    for (int i = 0; i < saved; ++i) arguments.push_back(call.saved(i).detach());
    const nb::object result = result_for(arguments);
    std::vector<Tensor> gradients;
    if (is_tensor(result.ptr()) || result.is_none()) {
      gradients.push_back(result.is_none() ? Tensor() : tensor_in(result.ptr()));
    } else {
      for (const nb::object& item : items_from(result, "gradients"))
        gradients.push_back(item.is_none() ? Tensor() : tensor_from(item));
    }
    return gradients;
  }
};

TensorObject own_gradient(const std::string& name, nb::handle value, nb::handle inputs, nb::object function,
                          nb::handle saved) {
  const Call call(value);
  const std::vector<Tensor> operands = tensors_from(inputs), kept = tensors_from(saved);
  const OwnGradient backward{{HeldObject(std::move(function)), HeldObject(nb::borrow(value.type()))},
                             static_cast<int>(kept.size())};
  return call.result(with_gradient(name, tensor_in(value.ptr()), operands, GradientFunction(backward), kept,
                                   GradientOrder::first, call.where()));
}

// A function of the program that backward() calls again, on the thread that calls that.
struct OwnRecomputed : OwnFunction {
  Tensor operator()(const Arg& input) const {
    const nb::object result = result_for({&input.tensor(), 1});
    if (!is_tensor(result.ptr())) {
      throw_type_error("a recomputed function must return a tensor, got " + repr_of(result));
    }
    return tensor_in(result.ptr());
  }
};

nb::object recomputed_function(nb::object function, nb::handle x) {
  const Call call(x);
  const OwnRecomputed again{{HeldObject(std::move(function)), HeldObject(nb::borrow(x.type()))}};
  return call.result(recomputed(again, call.arg(tensor_in(x.ptr()))));
}

}  // namespace

// A function that refers to the tensor whose gradient it computes, or which it computes again, makes a cycle. Only nodes
// that this tensor alone refers to are visited: others may be kept alive by what the collector cannot see.
int visit_own_functions(const Tensor& tensor, visitproc visit, void* arg) {
  if (!tensor.defined()) return 0;
  for (const auto& [gradient, recomputed] : detail::own_functions_below(tensor)) {
    const OwnFunction* const own = gradient != nullptr ? gradient->target<OwnGradient>() : nullptr;
    const OwnFunction* const again = recomputed != nullptr ? recomputed->target<OwnRecomputed>() : nullptr;
    for (const OwnFunction* const held : {own, again}) {
      if (held == nullptr) continue;
      Py_VISIT(held->function.get().ptr());
      Py_VISIT(held->type.get().ptr());
    }
  }
  return 0;
}

void bind_custom(nb::module_& m) {
  m.def("_recomputed", &recomputed_function, nb::arg("function"), nb::arg("x"));
  m.def("_custom", &custom_operation, nb::arg("name"), nb::arg("output"), nb::arg("inputs"), nb::arg("function"));
  m.def("_source", &source_operation, nb::arg("name"), nb::arg("output"), nb::arg("function"));
  m.def("_with_gradient", &own_gradient, nb::arg("name"), nb::arg("value"), nb::arg("inputs"), nb::arg("backward"),
        nb::arg("saved"));
}

}  // namespace asyncgrad::python
