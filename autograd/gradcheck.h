// A check of gradients by differences, for functions and layers of the program's own.
#pragma once

#include <functional>
#include <vector>

#include "asyncgrad/core/location.h"
#include "asyncgrad/core/tensor.h"

namespace asyncgrad {

struct GradcheckOptions {
  int order = 1;            // 2: the gradients of the gradients, too
  double step = 1e-6;       // by which an element is moved up and down
  double tolerance = 1e-5;  // of the difference, as a part of 1 + |gradient|
};

// Compares the gradients of `function` in every element of the inputs, which are float64, with differences:
// (f(x + step) - f(x - step)) / (2 step), for the sum of the results' elements, each with a weight of its own. Random
// numbers in the function must be the same at every call. Calls it twice for every element, and waits. Throws Error that
// names the first element whose gradient is off, with both values; for inputs of another type, and for a function whose
// result depends on none of them.
//
//   ag::gradcheck([](const std::vector<ag::Tensor>& x) { return my_function(x[0], x[1]); },
//                 {ag::randn({2, 3}, {.dtype = ag::float64}), ag::randn({3}, {.dtype = ag::float64})});
void gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& function, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {}, Location where = Location::current());

}  // namespace asyncgrad
