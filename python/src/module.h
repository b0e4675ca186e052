// The parts of the module.
#pragma once

#include "asyncgrad/asyncgrad.h"
#include "nb.h"

namespace asyncgrad::python {

using TensorClass = nb::class_<Tensor>;
void bind_errors(nb::module_& m);
void bind_warnings(nb::module_& m);
TensorClass bind_tensor(nb::module_& m);
void bind_tensor_classes(nb::module_& m);
void bind_recurrent_functions(nb::module_& m);
void bind_elementwise(nb::module_& m, TensorClass& tensor);
void bind_reductions(nb::module_& m, TensorClass& tensor);
void bind_shapes(nb::module_& m, TensorClass& tensor);
void bind_selection(nb::module_& m, TensorClass& tensor);
void bind_products(nb::module_& m, TensorClass& tensor);
void bind_losses(nb::module_& m);
void bind_layer_functions(nb::module_& m);
void bind_gradients(nb::module_& m, TensorClass& tensor);
void bind_copies(TensorClass& tensor);
void bind_creation(nb::module_& m);
void bind_convolution_functions(nb::module_& m);
void bind_pooling_functions(nb::module_& m);
void bind_dtypes(nb::module_& m);
void bind_indexing(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_dlpack(nb::module_& m, TensorClass& tensor);
void bind_engine(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_devices(nb::module_& m);
void bind_profiler(nb::module_& m);
void bind_waits(nb::module_& m);
void bind_scopes(nb::module_& m);
void bind_initialisers(nb::module_& m);
void bind_optimizers(nb::module_& m);
void bind_dist(nb::module_& m);
void bind_schedules(nb::module_& m);
void bind_members(nb::module_& m);
void bind_files(nb::module_& m);
void bind_batches(nb::module_& m);
void bind_custom(nb::module_& m);
void bind_callbacks(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_experiment(nb::module_& m);
// The last one: it is about the functions that the others have made.
void bind_refused_calls(nb::module_& m);

}  // namespace asyncgrad::python
