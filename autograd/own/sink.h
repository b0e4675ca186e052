// Operations that take values out of the program, into a file for example. Internal.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "asyncgrad/core/custom_call.h"
#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad::detail {

// Queues a function that may take long: it runs when the inputs are computed, beside the computing, as a source does
// (autograd/source.h). The result is the int64 scalar that the function writes; a wait for it returns when the function
// has ended. A process that ends by exit() runs it first. Throws Error for an input that is not on the CPU, and when
// the end of the process has begun.
Tensor sink(std::string_view name, const std::vector<Tensor>& inputs, std::function<void(const CustomCall&)> function,
            Location where);

}  // namespace asyncgrad::detail
