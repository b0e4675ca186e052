// Buffers, and arrays of NumPy.
#pragma once

#include <cstdint>
#include <vector>

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

struct PythonBuffer;  // Py_buffer, which the limited API has from 3.11 on
int get_buffer(PyObject* self, PythonBuffer* view, int flags);
void release_buffer(PyObject* self, PythonBuffer* view);
Tensor array_copy(nb::handle object, nb::handle dtype, Device device);
Tensor from_buffer(nb::handle object);  // shares memory
// An array of NumPy over memory of `owner`.
nb::object numpy_view(void* data, DType dtype, const Shape& shape, nb::handle owner, bool writable);
// The address of the tensor's values, for which it waits; not null if there are none.
void* address_of(const Tensor& tensor);
void* address_in(const Tensor& tensor, void* (*address)(const Tensor&));  // host_data or device_data
// The distance from element to element along each axis, in multiples of `unit`.
std::vector<std::int64_t> row_major_strides(const Shape& shape, std::int64_t unit);
// Keeps the memory of an object, and its extent: NumPy does not resize an array that has weak references.
nb::object kept_memory(nb::handle object);

}  // namespace asyncgrad::python
