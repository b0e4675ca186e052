// Python's Modules as the library's visitors of members see them.
#include "members.h"

#include "asyncgrad/autograd/leaves.h"
#include "call.h"
#include "conversion.h"
#include "dtypes.h"
#include "layer.h"
#include "module.h"
#include "tensor.h"

namespace asyncgrad::python {

namespace {

using nb::handle;

PyObject* module_class = nullptr;  // asyncgrad.nn.Module

nb::object held(Tensor tensor, PyTypeObject* type) { return nb::steal(new_object(std::move(tensor), type)); }

Layer* native_layer(handle module) {
  if (!nb::hasattr(module, "_layer")) return nullptr;
  const nb::object layer = module.attr("_layer");
  return nb::isinstance<Layer>(layer) ? nb::cast<Layer*>(layer) : nullptr;
}

class NoVisitor final : public nn::Members::Visitor {
 public:
  void tensor(const std::string&, Tensor&) override {}
};

template <class Visitor>
PythonMember::Found visited(handle module, Visitor& visitor) {
  PythonMember::Found found;
  PythonMember member(module, &found);
  const Location where = here();
  const CallSite site(where);
  nn::Members::visit(member, visitor);
  return found;
}

nb::object as_python_holds(const PythonMember::Found& found, const Tensor& tensor) {
  const auto known = found.tensors.find(tensor.impl());
  return known != found.tensors.end() ? known->second : held(tensor, tensor_type);
}

// The layer with its tensors on a device, or its floating ones in a type.
void convert(handle module, handle target) {
  const Location where = here();
  const bool moves = is_device(target);
  const Device device = moves ? device_from(target) : Device();
  const DType dtype = moves ? float32 : dtype_from(target);
  nn::members_detail::RebindVisitor visitor(
      [&](const Tensor& tensor) {
        if (moves ? tensor.device() == device : tensor.dtype() == dtype || !is_floating(tensor.dtype())) return tensor;
        if (moves) return nn::members_detail::own_copy(tensor, device, where);
        Tensor converted = tensor.detach().to(dtype, where);
        require_as(tensor, converted);
        return converted;
      },
      {});
  visited(module, visitor);
}

}  // namespace

bool is_module(handle object) {
  return module_class != nullptr && PyObject_IsInstance(object.ptr(), module_class) == 1;
}

std::string PythonMember::layer_kind() const {
  if (is_module(object_)) return nb::cast<std::string>(nb::str(object_.type().attr("__name__")));
  return PyDict_Check(object_.ptr()) ? "dict" : "list";
}

void PythonMember::members(nn::Members& m) {
  if (is_module(object_)) {
    list_module(m);
  } else {
    list_items(m);
  }
}

void PythonMember::list_module(nn::Members& m) {
  if (found_ != nullptr) found_->modules.append(nb::make_tuple(m.layer_path(), object_));
  if (Layer* const layer = native_layer(object_)) layer->members(m);
  const nb::dict own = nb::cast<nb::dict>(object_.attr("_own_members")());
  for (const auto& [key, value] : copy_of(own)) {
    const nb::object now = listed(m, nb::cast<std::string>(nb::str(key)), value);
    if (!now.is(value)) nb::setattr(object_, key, now);
  }
}

void PythonMember::list_items(nn::Members& m) {
  if (PyDict_Check(object_.ptr())) {
    const nb::list keys = nb::cast<nb::dict>(object_).keys();
    for (const handle key : keys) {
      const nb::object value = object_[key], now = listed(m, nb::cast<std::string>(nb::str(key)), value);
      if (!now.is(value)) object_[key] = now;
    }
    return;
  }
  nb::list items;
  bool is_changed = false;
  for (const handle value : object_) {
    const nb::object now = listed(m, std::to_string(nb::len(items)), value);
    is_changed = is_changed || !now.is(value);
    items.append(now);
  }
  if (!is_changed) return;
  if (PyList_Check(object_.ptr())) {
    for (std::size_t i = 0; i < nb::len(items); ++i) object_[i] = items[i];
  } else {
    const nb::tuple whole(items);
    object_ = nb::hasattr(object_, "_fields") ? nb::object(object_.type()(*whole)) : nb::object(whole);
  }
}

nb::object PythonMember::listed(nn::Members& m, const std::string& name, handle value) {
  if (is_tensor(value.ptr())) return listed_tensor(m, name, value);
  if (is_module(value) || PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyDict_Check(value.ptr())) {
    PythonMember inner(value, found_);
    m(name, inner);
    return inner.object_;
  }
  Activation function = nullptr;  // a function among layers has a line in the summary
  if (PyCallable_Check(value.ptr()) != 0) m(name, function);
  return nb::borrow(value);
}

nb::object PythonMember::listed_tensor(nn::Members& m, const std::string& name, handle value) {
  Tensor tensor = tensor_in(value.ptr());
  const detail::TensorImpl* const before = tensor.impl();
  if (found_ != nullptr) found_->tensors.emplace(before, nb::borrow(value));
  m(name, tensor);
  return tensor.impl() == before ? nb::borrow(value) : held(std::move(tensor), Py_TYPE(value.ptr()));
}

std::vector<std::pair<std::string, Tensor>> state_of(handle module) {
  nn::members_detail::StateVisitor visitor;
  visited(module, visitor);
  return std::move(visitor.state);
}

void bind_members(nb::module_& m) {
  m.def("_set_module_class", [](nb::object type) { module_class = type.release().ptr(); });
  m.def("_state", [](handle module) {
    nn::members_detail::StateVisitor visitor;
    const PythonMember::Found found = visited(module, visitor);
    nb::list rows;
    for (const auto& [path, tensor] : visitor.state) rows.append(nb::make_tuple(path, as_python_holds(found, tensor)));
    return rows;
  });
  m.def("_is_parameter", [](handle tensor) { return is_parameter(tensor_in(tensor.ptr())); });
  m.def("_parameters", [](handle module) {
    nn::members_detail::StateVisitor visitor;
    const PythonMember::Found found = visited(module, visitor);
    nb::list tensors;
    for (const Tensor& tensor : nn::members_detail::parameters_of(visitor)) {
      tensors.append(as_python_holds(found, tensor));
    }
    return tensors;
  });
  m.def("_modules", [](handle module) {
    NoVisitor visitor;
    return visited(module, visitor).modules;
  });
  m.def("_summary", [](handle module) {
    nn::members_detail::SummaryVisitor visitor;
    visited(module, visitor);
    return visitor.str();
  });
  m.def("_to", &convert, nb::arg("layer"), nb::arg("target"));
}

}  // namespace asyncgrad::python
