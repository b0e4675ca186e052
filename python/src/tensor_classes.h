// Classes of tensors for other libraries' names.
#pragma once

#include "tensor.h"

namespace asyncgrad::python {

// The rules that operations follow whose result has the class.
struct ClassRules {
  PyTypeObject* type = nullptr;
  // A number takes the type of the tensor beside it, and of two types the floating one wins; else as in NumPy.
  bool keeps_types = false;
  bool records_on_request = false;      // recorded for backward() only while is_recording_requested(); else always
  bool takes_floating_indices = false;  // indices may be whole numbers of a floating type
};
const ClassRules& registered_rules_of(PyTypeObject* type);  // the default ones for a class that is not registered
inline const ClassRules& rules_of(PyTypeObject* type) {
  static constexpr ClassRules of_tensor{};
  return type == tensor_type ? of_tensor : registered_rules_of(type);
}
bool is_recording_requested();  // by this thread

}  // namespace asyncgrad::python
